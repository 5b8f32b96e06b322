import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node } from '#common/contract/index.js'
import { CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeService } from '../node/node.service.js'
import { NodeTransitions } from '../node/node.transition.js'
import { moved, WorktreeCarrier } from './worktree.carrier.js'
import { WorktreeHost } from './worktree.host.js'
import { worktreeMachine } from './worktree.machine.js'
import { toWorktree, type WorktreeRecord } from './worktree.record.js'
import { type Occupant, WorktreeRepository } from './worktree.repository.js'

const close = contract['nodes.worktree.close']
const abandon = contract['nodes.worktree.abandon']
type End = 'close' | 'abandon'

/** What was seen of a tree before its end is decided. */
interface Sight {
  readonly refusal?: SvcError
  /** Where its branch points; null without a branch. */
  readonly commit: string | null
  /** Who worked there how often: when that has changed, what was seen may be old. */
  readonly occupants: string
}

/** How long (ms) an answer waits for git; what takes longer goes on and is told by its event. */
const patience = 30_000

const stampOf = (occupants: readonly Occupant[]): string =>
  occupants.map(({ id, generation }) => `${id}:${generation}`).join()

/** How the worktree of a node ends. What is decided is durable before git removes anything. */
@Injectable()
export class WorktreeService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly worktrees: WorktreeRepository,
    private readonly access: NodeAccess,
    private readonly transitions: NodeTransitions,
    private readonly shown: NodeService,
    private readonly host: WorktreeHost,
    private readonly carrier: WorktreeCarrier,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, illegal_transition, worktree_dirty, worktree_busy, version_conflict */
  close(ctx: Context, input: InputOf<typeof close>): Promise<Written<Node>> {
    return this.end(ctx, 'close', input, !input.force)
  }

  /** @throws SvcError not_found, illegal_transition, worktree_busy, version_conflict */
  abandon(ctx: Context, input: InputOf<typeof abandon>): Promise<Written<Node>> {
    return this.end(ctx, 'abandon', input, false)
  }

  private async end(ctx: Context, event: End, input: { id: string }, look: boolean): Promise<Written<Node>> {
    const { id } = input
    const operation = event === 'close' ? close.name : abandon.name
    const seen = await this.look(ctx, id, look)
    const written = await this.writer.once(ctx, { operation, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, id)
      await this.access.requireOwn(ctx, within.tx, node)
      const worktree = legal(node, event)
      await this.requireQuiet(within, node, worktree, seen)
      const commit = worktree.state === 'open' ? seen.commit : null
      const next = this.transitions.change(within, node, { worktree: moved({ ...worktree, commit }, event) })
      within.tx.afterCommit(() => void this.carrier.carry(id))
      return this.shown.show(next)
    })
    await Promise.race([this.carrier.carry(id), pause(this.clock, patience, ctx.signal)])
    const now = await this.nodes.get(this.database, id)
    // a repeated request is given its first answer, as far as that had come
    const worktree = now.worktree && toWorktree(now.worktree)
    return written.replayed
      ? { ...written, value: { ...written.value, worktree } }
      : { ...written, value: this.shown.show(now) }
  }

  /** What refuses it is said inside the transaction, since a repeated request is given its first answer. */
  private async look(ctx: Context, id: string, look: boolean): Promise<Sight> {
    const node = await this.nodes.get(this.database, id)
    await this.access.requireOwn(ctx, this.database, node)
    const { worktree } = node
    const occupants = await this.occupants(this.database, worktree)
    const sight = { commit: null, occupants: stampOf(occupants) }
    if (worktree?.state !== 'open' || busy(occupants)) return sight
    try {
      const nodes = [...new Set([id, ...occupants.map((occupant) => occupant.id)])]
      const { commit, changes, total } = await this.host.status(ctx, id, worktree, { nodes, look })
      if (!changes.length) return { ...sight, commit }
      const text = `The worktree at ${worktree.path} has ${total} ${total === 1 ? 'change' : 'changes'} that would be lost.`
      return { ...sight, commit, refusal: new SvcError('worktree_dirty', text, { changes, total }) }
    } catch (error) {
      if (!isSvcError(error)) throw error
      return { ...sight, refusal: error }
    }
  }

  private async requireQuiet(ctx: TxContext, node: NodeRecord, worktree: WorktreeRecord, seen: Sight): Promise<void> {
    if (ctx.actor.nodeId === node.id) {
      throw new SvcError(
        'worktree_busy',
        'A node can not remove the tree that it works in: commit and report, then its parent or the owner closes it.',
        { nodes: [node.id] },
      )
    }
    const occupants = await this.occupants(ctx.tx, worktree)
    const at = busy(occupants)
    if (at) throw at
    if (seen.refusal) throw seen.refusal
    if (stampOf(occupants) !== seen.occupants) {
      throw new SvcError('version_conflict', 'Somebody worked in the tree while it was looked at.')
    }
  }

  private occupants(reader: Reader, worktree: WorktreeRecord | null): Promise<Occupant[]> {
    return worktree ? this.worktrees.occupants(reader, worktree.path) : Promise.resolve([])
  }
}

const busy = (occupants: readonly Occupant[]): SvcError | undefined => {
  const active = occupants.filter(({ status }) => status === 'active').map(({ id }) => id)
  const jobs = occupants.reduce((sum, occupant) => sum + occupant.jobs, 0)
  if (!active.length && !jobs) return undefined
  const who = active.length ? `${active.join(', ')} ${active.length === 1 ? 'works' : 'work'} in it` : ''
  const what = jobs ? `${jobs} ${jobs === 1 ? 'job runs' : 'jobs run'} in it` : ''
  return new SvcError('worktree_busy', `The worktree is in use: ${[who, what].filter(Boolean).join(' and ')}.`, {
    nodes: active,
    jobs,
  })
}

/** @throws SvcError not_found, illegal_transition */
const legal = (node: NodeRecord, event: End): WorktreeRecord => {
  const { worktree } = node
  if (!worktree) throw new SvcError('not_found', `The node ${node.id} has no worktree.`, { resource: 'worktree' })
  const { state } = worktree
  if (worktreeMachine.next(state, event) === undefined) {
    throw new SvcError(
      'illegal_transition',
      `A worktree that is ${state} can't be ${event === 'close' ? 'closed' : 'abandoned'}.`,
      {
        state,
        event,
      },
    )
  }
  return worktree
}
