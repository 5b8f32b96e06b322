import { describe, expect, it } from '@jest/globals'
import { defineMachine } from './machine.js'

const door = defineMachine({
  name: 'door',
  states: ['closed', 'open', 'locked'],
  initial: 'closed',
  table: {
    open: { from: ['closed'], to: 'open' },
    close: { from: ['open'], to: 'closed' },
    lock: { from: ['closed'], to: 'locked', set: { key: 'turned' } },
    knock: { from: 'any', to: 'kept' },
    force: { from: 'any', to: 'open', set: { key: null } },
  },
})

describe('a machine', () => {
  for (const state of door.states) {
    for (const event of door.events) {
      const target = door.next(state, event)
      const record = { status: state, key: 'before', colour: 'red' }
      if (target === undefined) {
        it(`refuses to ${event} when ${state}`, () => {
          expect(() => door.apply(record, event)).toThrow(
            expect.objectContaining({ code: 'illegal_transition', fields: { state, event } }),
          )
        })
      } else {
        it(`goes from ${state} to ${target} on ${event}, leaving the old record as it was`, () => {
          const next = door.apply(record, event)
          expect(next).toEqual({ colour: 'red', key: 'before', ...door.table[event].set, status: target })
          expect(record).toEqual({ status: state, key: 'before', colour: 'red' })
        })
      }
    }
  }

  it('knows the legal events of a state', () => {
    expect(door.legal('locked')).toEqual(['knock', 'force'])
  })

  it('draws itself', () => {
    expect(door.diagram().split('\n')).toEqual(
      expect.arrayContaining([
        'stateDiagram-v2',
        '  [*] --> closed',
        '  closed --> locked: lock',
        '  open --> open: knock',
      ]),
    )
  })
})

describe('defineMachine', () => {
  const states = ['a', 'b'] as const
  it('refuses a target or a source that is not a state', () => {
    const table = { go: { from: ['a'], to: 'c' } } as unknown as { go: { from: ['a']; to: 'b' } }
    expect(() => defineMachine({ name: 'm', states, initial: 'a', table })).toThrow('go names the unknown state c')
  })

  it('refuses a state that nothing leads to', () => {
    expect(() => defineMachine({ name: 'm', states, initial: 'a', table: { back: { from: ['b'], to: 'a' } } })).toThrow(
      "b can't be reached from a",
    )
  })
})
