import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { nodeIntents, nodeStatuses } from '#common/contract/node.schema.js'
import { nodeMachine } from './node.machine.js'

describe('the machine of a node', () => {
  for (const status of nodeMachine.states) {
    for (const event of nodeMachine.events) {
      const target = nodeMachine.next(status, event)
      const before = { status, intent: 'before', id: 'n' }
      if (target === undefined) {
        it(`refuses to ${event} when ${status}, naming both`, () => {
          expect(() => nodeMachine.apply(before, event)).toThrow(
            expect.objectContaining({ code: 'illegal_transition', fields: { state: status, event } }),
          )
        })
      } else {
        it(`goes from ${status} to ${target} on ${event}`, () => {
          const { set } = nodeMachine.table[event] as { set?: object }
          expect(nodeMachine.apply(before, event)).toEqual({ ...before, ...set, status: target })
        })
      }
    }
  }

  it('lets a rest, an end and a new life happen from where the contract says, and from nowhere else', () => {
    const from = (event: (typeof nodeMachine.events)[number]): string[] =>
      nodeMachine.states.filter((status) => nodeMachine.next(status, event) !== undefined)
    expect(Object.fromEntries(nodeMachine.events.map((event) => [event, from(event)]))).toEqual({
      finalize: ['active', 'idle'],
      cancel: ['active', 'idle', 'done', 'dead'],
      crash: ['active', 'idle'],
      yield: ['active', 'idle'],
      release: ['active'],
      revive: ['active', 'idle', 'done', 'dead', 'canceled'],
    })
  })

  it('keeps the intent when a node crashes, and says why it stopped otherwise', () => {
    const before = { status: 'active', intent: 'refresh' } as const
    const intents = (['crash', 'finalize', 'release', 'yield', 'cancel', 'revive'] as const).map(
      (event) => (nodeMachine.apply(before, event) as { intent: string | null }).intent,
    )
    expect(intents).toEqual(['refresh', 'done', 'idle_release', 'refresh', null, null])
  })

  it('knows the states and intents that the contract and the database know', () => {
    expect(nodeMachine.states).toEqual(nodeStatuses)
    const sql = readFileSync('prisma/migrations/0001_init/migration.sql', 'utf8')
    const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ')
    expect(sql).toContain(`CHECK (status IN (${quoted(nodeStatuses)}))`)
    expect(sql).toContain(`CHECK (intent IN (${quoted(nodeIntents)}))`)
  })
})
