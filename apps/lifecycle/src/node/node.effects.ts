import type { ErrorCode } from '#common/contract/errors.js'
import type { OperationName } from '#common/contract/index.js'
import type { NodeEventType, NodeStatus } from '#common/contract/node.schema.js'
import type { NodeMachineEvent } from './node.machine.js'
import type { NodeOperation } from './node.rules.js'

/** What a node may be in besides its status, as far as an operation does something else there. */
export const nodeSituations = {
  launching: { status: 'active', says: 'a process is on its way' },
  bound: { status: 'active', says: 'a process hosts it, and no turn runs' },
  in_turn: { status: 'active', says: 'a turn runs' },
  refreshing: { status: 'active', says: 'a turn runs, and a fresh context begins at its end' },
  held: { status: 'active', says: 'no process: it waits for its next try after a fault' },
  idle: { status: 'idle', says: 'it rests' },
  waiting: { status: 'idle', says: 'it rests since it waits, by its own word' },
  refresh_owed: { status: 'idle', says: 'it rests, and wakes with a fresh context' },
  done: { status: 'done', says: 'its work ended with a final report or a result' },
  dead: { status: 'dead', says: 'it was given up after a fault' },
  canceled: { status: 'canceled', says: 'somebody canceled it' },
} as const satisfies Record<string, { status: NodeStatus; says: string }>

export type NodeSituation = keyof typeof nodeSituations

/** Something of each situation; of a status where all its situations are alike. */
type Each<T> = Readonly<Partial<Record<NodeSituation | NodeStatus, T>>>

export interface NodeEffect {
  readonly route: OperationName
  /** Whose statuses hold for it; its own unless named. */
  readonly rule?: NodeOperation
  /** Events of the machine that move the node at once, in order; without an entry it stays as it is. */
  readonly moves?: Each<readonly NodeMachineEvent[]>
  /** The event in the node's history that tells of it. */
  readonly tells?: NodeEventType | Each<NodeEventType>
  /** What is answered in place of `illegal_transition`. */
  readonly answers?: Each<ErrorCode>
  /** What is refused with `illegal_transition` for something else than the status: the `state` that it names, and when. */
  readonly refuses?: Readonly<Record<string, string>>
  readonly says: string
}

const notItself = { canceled: 'token_revoked' } as const
const treeGone = {
  closing: 'the worktree that it works in is being closed',
  closed: 'the worktree that it works in was closed',
  abandoning: 'the worktree that it works in is being abandoned',
  abandoned: 'the worktree that it works in was abandoned',
} as const
const notRoot = {
  child: 'it is no root',
  booting: 'it is itself about to take the place of another root',
  relaunching: 'another root is about to take its place',
} as const

/**
 * What each operation does to a node that takes it; `node.rules.ts` says which do. The page of operations in the
 * documentation is made of this, and a generated test holds the running daemon to every pair.
 */
export const nodeEffects = {
  message: {
    route: 'nodes.message',
    moves: { idle: ['revive'], done: ['revive'], dead: ['revive'] },
    tells: 'message.accepted',
    refuses: treeGone,
    says: 'Work that had ended begins anew, as the next engagement. A `deferred` message wakes nobody.',
  },
  interrupt: {
    route: 'nodes.interrupt',
    tells: { in_turn: 'node.interrupted', refreshing: 'node.interrupted' },
    says: 'The turn ends as `interrupted`, and the node rests (`release`). Without a turn nothing happens.',
  },
  cancel: {
    route: 'nodes.cancel',
    moves: { active: ['cancel'], idle: ['cancel'], done: ['cancel'], dead: ['cancel'] },
    tells: 'node.canceled',
    says: 'So does everything below it that nobody else watches.',
  },
  update: {
    route: 'nodes.update',
    tells: 'node.updated',
    says: 'A resident that rests and becomes terminal is woken (`revive`), since it owes a final report now.',
  },
  promote: {
    route: 'nodes.promote',
    tells: 'node.promoted',
    refuses: { orchestrator: 'it is one already' },
    says: 'With `resident: false`, a resident that rests is woken (`revive`).',
  },
  demote: {
    route: 'nodes.demote',
    moves: { idle: ['revive'], waiting: [], refresh_owed: ['revive'] },
    tells: 'node.demoted',
    refuses: { terminal: 'it is terminal already' },
    says: 'One that rests is woken, since it owes a final report now; one that waits goes on waiting. A program is not told of it, and rests on.',
  },
  write_roadmap: {
    route: 'nodes.roadmap.write',
    tells: 'roadmap.changed',
    refuses: { base: 'it is no orchestrator' },
    says: 'The text that it holds already changes nothing.',
  },
  spawn: {
    route: 'nodes.create',
    refuses: treeGone,
    says: 'With this node as `parent_id`; the child begins `active`.',
  },
  fork: {
    route: 'nodes.fork',
    tells: 'node.forked',
    refuses: treeGone,
    says: "The new node begins `active`; with no `prompt` it rests at once. Beside a source whose parent was canceled it is refused as `spawn`, with the parent's status. A source that has ended no turn in its present context answers 422, and so does a program.",
  },
  revive: {
    route: 'nodes.revive',
    moves: { idle: ['revive'], done: ['revive'], dead: ['revive'], canceled: ['revive'], held: ['revive'] },
    tells: { idle: 'node.revived', done: 'node.revived', dead: 'node.revived', canceled: 'node.revived' },
    refuses: treeGone,
    says: 'Work that had ended begins anew, as the next engagement. Of one that is at work, mode `fresh` does what `yield` does.',
  },
  retry: {
    route: 'nodes.retry',
    tells: { held: 'node.launching' },
    says: 'Tried now; a node that waits for no try answers `retried: false`.',
  },
  yield: {
    route: 'nodes.yield',
    moves: { active: ['yield', 'revive'], in_turn: ['yield'], refreshing: ['yield'], idle: ['yield'] },
    tells: 'node.yielded',
    says: 'The `revive` is the beginning of the fresh context: at the end of the turn while one runs, else at once; at rest, when it wakes. A program has no context: 422.',
  },
  wait: {
    route: 'nodes.wait',
    tells: 'node.waiting',
    answers: notItself,
    says: "With the node's own token. It rests when its turn ends (`release`); mail or the clock wakes it (`revive`). With any other token it only looks, in every status.",
  },
  report: {
    route: 'nodes.reports.push',
    tells: 'report.pushed',
    answers: notItself,
    says: "With the node's own token, else 403: `update` and `urgent`.",
  },
  final: {
    route: 'nodes.reports.push',
    rule: 'report',
    moves: { active: ['finalize'], idle: ['finalize'] },
    tells: 'report.pushed',
    answers: { ...notItself, done: 'already_finalized' },
    refuses: { active: 'it owes a result: the event named is `finalize`' },
    says: "With the node's own token, else 403. One whose work ended with a result may still give its first final report, and stays done.",
  },
  submit: {
    route: 'nodes.result.submit',
    moves: { active: ['finalize'], idle: ['finalize'] },
    tells: 'result.submitted',
    says: 'A second one in the same engagement answers `result_already_submitted`.',
  },
  recycle: {
    route: 'nodes.recycle',
    moves: { active: ['finalize'], idle: ['finalize'] },
    tells: 'node.recycled',
    refuses: { ...notRoot, ...treeGone },
    says: 'A new root takes its place, and begins `active`.',
  },
  relaunch: {
    route: 'nodes.relaunchRoot',
    tells: 'node.relaunching',
    refuses: { ...notRoot, ...treeGone },
    says: 'A new root is booted; `finalize` follows once a process hosts that one.',
  },
  watch: {
    route: 'canvas.subscriptions.put',
    tells: 'subscription.added',
    says: 'Both nodes of the subscription must take it.',
  },
  ask: {
    route: 'human.requests.create',
    tells: 'question.asked',
    says: 'In the name of the node; the answer comes as mail, and wakes it.',
  },
  start_job: {
    route: 'nodes.jobs.start',
    tells: 'job.started',
    refuses: treeGone,
    says: 'It runs on whatever its node does, unless that is canceled.',
  },
} as const satisfies Record<NodeOperation | 'final', NodeEffect>

export type NodeAct = keyof typeof nodeEffects

/** What is said of this situation, else of its status. */
export const inSituation = <T>(each: Each<T> | undefined, situation: NodeSituation): T | undefined =>
  each?.[situation] ?? each?.[nodeSituations[situation].status]
