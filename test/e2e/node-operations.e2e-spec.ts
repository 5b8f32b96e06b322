import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../apps/gateway/src/testing/gateway.fixture.js'
import {
  inSituation,
  type NodeAct,
  type NodeSituation,
  nodeEffects,
  nodeSituations,
} from '../../apps/lifecycle/src/node/node.effects.js'
import { nodeMachine } from '../../apps/lifecycle/src/node/node.machine.js'
import { nodeRules } from '../../apps/lifecycle/src/node/node.rules.js'
import { errorCodes, errorKinds, type NodeStatus } from '../../libs/common/src/contract/index.js'
import { Edge, type Trace } from '../support/edge.js'
import { callOf, effectOf, madeFor, ruleOf, successOf } from '../support/node-asking.js'
import { NodeStage, type Staged } from '../support/node-stage.js'

let edge: Edge
let stage: NodeStage
let other: Staged

beforeAll(async () => {
  edge = await Edge.start({ SVC_BOOT_GRACE_MS: 600_000, SVC_REFRESH_MS: 600_000 })
  stage = new NodeStage(edge)
  other = await stage.bring('idle')
})
afterAll(() => edge?.stop())

interface Attempt {
  readonly before: Trace
  readonly answer: Answer
  readonly after: Trace
}

const acts = Object.keys(nodeEffects) as NodeAct[]
const situations = Object.keys(nodeSituations) as NodeSituation[]
const isLegal = (act: NodeAct, status: NodeStatus): boolean =>
  (nodeRules[ruleOf(act)] as readonly NodeStatus[]).includes(status)
const statusOf = (code: keyof typeof errorCodes): number => errorKinds[errorCodes[code].kind].status

/** On a node of its own. */
const attempt = async (act: NodeAct, situation: NodeSituation): Promise<Attempt> => {
  const node = await stage.bring(situation, madeFor(act))
  const before = await edge.trace(node.id)
  const answer = await edge.ask(callOf(act, node, other))
  return { before, answer, after: await edge.trace(node.id) }
}

const expectMoved = (act: NodeAct, situation: NodeSituation, { before, after }: Attempt): void => {
  const { moves, tells } = effectOf(act)
  let record = { status: before.node.status as NodeStatus, intent: before.node.intent }
  const expected = (inSituation(moves, situation) ?? []).map((event) => {
    record = nodeMachine.apply(record, event)
    return { event, to: record.status, intent: record.intent }
  })
  expect(after.moves.slice(before.moves.length)).toEqual(expected)
  expect({ status: after.node.status, intent: after.node.intent }).toEqual(record)
  const told = typeof tells === 'string' ? tells : inSituation(tells, situation)
  const events = after.events.slice(before.events.length)
  if (told) expect(events).toContain(told)
  else if (expected.length === 0) expect([after.node, events]).toEqual([before.node, []])
}

describe.each(situations)('of a node that is %s', (situation) => {
  const { status } = nodeSituations[situation]
  let attempts: Record<NodeAct, Promise<Attempt>>
  beforeAll(async () => {
    const all = acts.map((act) => [act, attempt(act, situation)] as const)
    attempts = Object.fromEntries(all) as typeof attempts
    // what went wrong is told by the test of the operation
    await Promise.allSettled(all.map(([, done]) => done))
  })

  for (const act of acts) {
    const instead = inSituation(effectOf(act).answers, situation)
    const refused = instead ?? (isLegal(act, status) ? undefined : 'illegal_transition')
    if (refused === undefined) {
      it(`${act} is taken, and moves it as the machine says`, async () => {
        const made = await attempts[act]
        expect([made.answer.body?.code, made.answer.status]).toEqual([undefined, successOf(act)])
        expectMoved(act, situation, made)
      })
    } else {
      it(`${act} is refused with ${refused}, and changes nothing`, async () => {
        const { before, answer, after } = await attempts[act]
        expect(answer).toMatchObject({ status: statusOf(refused), body: { code: refused } })
        if (refused === 'illegal_transition') expect(answer.body).toMatchObject({ state: status, event: ruleOf(act) })
        expect(after).toEqual(before)
      })
    }
  }
})
