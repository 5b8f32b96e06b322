import { describe, expect, it } from '@jest/globals'
import { gatesOf, type NodeStatus, type OperationName, routes } from '#common/contract/index.js'
import { type NodeAct, type NodeEffect, type NodeSituation, nodeEffects, nodeSituations } from './node.effects.js'
import { nodeMachine } from './node.machine.js'
import { type NodeOperation, nodeRules } from './node.rules.js'

/** What writes below a node, and is decided by something else than its status. */
const decidedElsewhere: Partial<Record<OperationName, string>> = {
  'nodes.attach': 'whether a process hosts it',
  'nodes.jobs.cancel': 'the machine of the job',
  'nodes.worktree.close': 'the machine of the worktree',
  'nodes.worktree.abandon': 'the machine of the worktree',
}

const acts = Object.entries(nodeEffects) as [NodeAct, NodeEffect][]

describe('the effects of the operations on a node', () => {
  it('name every route that writes to a node, but those of its own process', () => {
    const writes = routes.filter(
      (entry) =>
        entry.method !== 'GET' && /^\/v1\/nodes\/\{id\}/.test(entry.path ?? '') && !gatesOf(entry).includes('broker'),
    )
    const known = new Set<string>([...acts.map(([, { route }]) => route), ...Object.keys(decidedElsewhere)])
    expect(writes.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([])
  })

  it('name no route twice but that of reports, and none that only reads', () => {
    const named = acts.filter(([act]) => act !== 'final').map(([, { route }]) => route)
    expect(new Set(named).size).toBe(named.length)
    expect(routes.filter(({ name, method }) => named.includes(name as OperationName) && method === 'GET')).toEqual([])
  })

  it('declare the refusal that the rules know', () => {
    const silent = acts.filter(([, { route }]) => {
      const entry = routes.find(({ name }) => name === route)
      return !entry?.errors?.includes('illegal_transition')
    })
    expect(silent.map(([act]) => act)).toEqual([])
  })

  it('cause every move that the machine knows, but a crash and a release: those are not asked for', () => {
    const caused = new Set<string>(acts.flatMap(([, { moves = {} }]) => Object.values(moves).flat()))
    expect(nodeMachine.events.filter((event) => !caused.has(event))).toEqual(['crash', 'release'])
    for (const [act, event] of Object.entries({ final: 'finalize', cancel: 'cancel', yield: 'yield' } as const)) {
      const from = nodeMachine.states.filter((status) => nodeMachine.next(status, event) !== undefined)
      expect(Object.keys(nodeEffects[act as 'final' | 'cancel' | 'yield'].moves)).toEqual(expect.arrayContaining(from))
    }
  })

  it('move a node only where the rules take the operation and the machine knows the way', () => {
    const wrong = acts.flatMap(([act, { moves = {}, rule }]) =>
      Object.entries(moves).filter(([key, events]) => {
        let status = (key in nodeSituations ? nodeSituations[key as NodeSituation].status : key) as NodeStatus
        const taken = (nodeRules[rule ?? (act as NodeOperation)] as readonly string[]).includes(status)
        const known = events.every((event) => {
          const next = nodeMachine.next(status, event)
          status = next ?? status
          return next !== undefined
        })
        return !taken || !known
      }),
    )
    expect(wrong).toEqual([])
  })
})
