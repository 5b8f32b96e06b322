import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../apps/gateway/src/testing/gateway.fixture.js'
import {
  type NodeAct,
  type NodeSituation,
  nodeEffects,
  nodeSituations,
} from '../../apps/lifecycle/src/node/node.effects.js'
import { gatesOf, type OperationName, routes, type WorktreeState } from '../../libs/common/src/contract/index.js'
import { version } from '../../libs/common/src/kernel/version.js'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { Edge } from '../support/edge.js'
import { callOf, effectOf, ruleOf } from '../support/node-asking.js'
import { NodeStage, type Staged } from '../support/node-stage.js'
import { PlayedGit } from '../support/played-git.js'

const git = new PlayedGit()
let edge: Edge
let stage: NodeStage

beforeAll(async () => {
  edge = await Edge.start({ SVC_BOOT_GRACE_MS: 600_000, SVC_REFRESH_MS: 600_000 }, ({ host, dataDir }) =>
    git.serveAt(host, dataDir),
  )
  stage = new NodeStage(edge)
})
afterAll(async () => {
  git.letGo()
  await edge?.stop()
})

const made = async (body: object): Promise<Staged> => {
  const answer = await edge.ask({ operation: 'nodes.create', body: { prompt: 'do it', ...body } })
  return { id: answer.body.id, token: edge.gateway.nodeToken(answer.body.id) }
}

const relaunched = async (): Promise<{ old: Staged; successor: Staged }> => {
  const old = await stage.bring('idle')
  const { body } = await edge.ask({ operation: 'nodes.relaunchRoot', at: { id: old.id }, body: {} })
  return { old, successor: { id: body.node.id, token: edge.gateway.nodeToken(body.node.id) } }
}

const ends: Partial<Record<WorktreeState, OperationName>> = {
  closing: 'nodes.worktree.close',
  closed: 'nodes.worktree.close',
  abandoning: 'nodes.worktree.abandon',
  abandoned: 'nodes.worktree.abandon',
}

/** A node at rest whose worktree has come so far. */
const withTree = async (state: WorktreeState): Promise<Staged> => {
  const node = await stage.bring('idle', { worktree: {} })
  if (state === 'closing' || state === 'abandoning') git.hold('remove')
  const end = { operation: ends[state] as OperationName, at: { id: node.id } }
  const asked = edge.ask({ ...end, ...(state.startsWith('clos') && { body: {} }) })
  await waitFor(
    async () => {
      const now = await edge.lifecycle.retrieve(node.id)
      return now.worktree?.state === state
    },
    { what: `a tree that is ${state}` },
  )
  if (!state.endsWith('ing')) await asked
  return node
}

/** A node in which each of these stands in the way. */
const inTheWay: Record<string, () => Promise<Staged>> = {
  orchestrator: () => stage.bring('idle', { mode: 'orchestrator' }),
  terminal: () => made({ cwd: '/tmp', lifecycle: 'terminal' }),
  base: () => stage.bring('idle'),
  active: () => made({ cwd: '/tmp', result_schema: { type: 'number' } }),
  child: async () => stage.bring('idle', { parent_id: (await stage.bring('idle')).id }),
  booting: async () => (await relaunched()).successor,
  relaunching: async () => (await relaunched()).old,
  closing: () => withTree('closing'),
  closed: () => withTree('closed'),
  abandoning: () => withTree('abandoning'),
  abandoned: () => withTree('abandoned'),
}

const reasons = [
  ...new Set(Object.keys(nodeEffects).flatMap((act) => Object.keys(effectOf(act as NodeAct).refuses ?? {}))),
]

describe.each(reasons)('where %s stands in the way', (state) => {
  const acts = (Object.keys(nodeEffects) as NodeAct[]).filter((act) => state in (effectOf(act).refuses ?? {}))
  let node: Staged
  beforeAll(async () => {
    node = await (inTheWay[state] as () => Promise<Staged>)()
  })
  afterAll(() => git.letGo())

  it.each(acts)('%s is refused with illegal_transition, which names it, and changes nothing', async (act) => {
    const before = await edge.trace(node.id)
    const { status, body } = await edge.ask(callOf(act, node, node))
    const event = state === 'active' ? 'finalize' : ruleOf(act)
    expect({ status, ...body }).toMatchObject({ status: 409, code: 'illegal_transition', state, event })
    expect(await edge.trace(node.id)).toEqual(before)
  })
})

const controlPlane = routes.filter((entry) => gatesOf(entry).includes('broker') && entry.method !== 'GET')

describe('what a process writes for its node', () => {
  it.each(controlPlane.map(({ name }) => name as OperationName))(
    '%s of an older process is refused, and changes nothing',
    async (operation) => {
      const { id } = await stage.bring('bound')
      const before = await edge.trace(id)
      const answer = await edge.ask({ operation, at: { id }, body: {}, token: edge.gateway.nodeToken(id, 1) })
      expect(answer).toMatchObject({ status: 409, body: { code: 'stale_generation' } })
      expect(await edge.trace(id)).toEqual(before)
    },
  )

  it.each(controlPlane.map(({ name }) => name as OperationName))(
    '%s of a canceled node is refused, and changes nothing',
    async (operation) => {
      const { id, token } = await stage.bring('canceled')
      const before = await edge.trace(id)
      const answer = await edge.ask({ operation, at: { id }, body: {}, token })
      expect(answer).toMatchObject({ status: 401, body: { code: 'token_revoked' } })
      expect(await edge.trace(id)).toEqual(before)
    },
  )

  const notActive = (Object.keys(nodeSituations) as NodeSituation[]).filter(
    (situation) => nodeSituations[situation].status !== 'active' && situation !== 'canceled',
  )
  it.each(notActive)('a bind to a node that is %s is refused with its status', async (situation) => {
    const { id, token } = await stage.bring(situation)
    const before = await edge.trace(id)
    const body = { host_id: 'h', pid: 1, started_at: '2026-01-01T00:00:00.000Z', version }
    const answer = await edge.ask({ operation: 'nodes.broker.bind', at: { id }, body, token })
    const { status } = nodeSituations[situation]
    expect(answer.body).toMatchObject({ code: 'illegal_transition', state: status, event: 'bind' })
    expect(await edge.trace(id)).toEqual(before)
  })

  const endOf = async (situation: NodeSituation, end: object): Promise<{ answer: Answer; moves: string[] }> => {
    const { id, token } = await stage.bring(situation)
    const before = await edge.trace(id)
    const read = await edge.ask({ operation: 'nodes.broker.readJournal', at: { id }, token })
    const body = { from: read.body.next_ord, entries: [{ type: 'turn_ended', turn: 2, ...end }] }
    const answer = await edge.ask({ operation: 'nodes.broker.journal', at: { id }, body, token })
    const after = await edge.trace(id)
    return { answer, moves: after.moves.slice(before.moves.length).map(({ event }) => event) }
  }

  it('the end of a turn releases a resident, and begins the fresh context of one that owes it', async () => {
    expect((await endOf('in_turn', { status: 'completed' })).moves).toEqual(['release'])
    expect((await endOf('refreshing', { status: 'completed' })).moves).toEqual(['revive'])
  })

  it('the end of a turn that failed for good crashes it', async () => {
    const fault = { kind: 'other', message: 'the roof fell in' }
    expect((await endOf('in_turn', { status: 'failed', fault })).moves).toEqual(['crash'])
  })

  it.each(notActive.filter((situation) => situation !== 'dead'))(
    'the end of a turn moves nothing of a node that is %s',
    async (situation) => {
      const { answer, moves } = await endOf(situation, { status: 'completed' })
      // the turn of one that is done may still be open: what is said of its end is kept
      const said = situation === 'done' ? 'stop' : 'journal_conflict'
      expect([answer.body.code ?? answer.body.next, moves]).toEqual([said, []])
    },
  )
})
