import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type Fault, faultKinds } from '#common/contract/node.schema.js'
import { longestHeld, retryDelay, treatmentOf, triableFrom } from './fault.policy.js'

const recurring = ['rate_limit', 'overloaded', 'connection', 'auth'] as const
const least = () => 0

describe('a fault', () => {
  it('is waited out, held or final by its kind alone', () => {
    expect(Object.fromEntries(faultKinds.map((kind) => [kind, treatmentOf(kind)]))).toEqual({
      rate_limit: { do: 'timed' },
      overloaded: { do: 'timed' },
      connection: { do: 'held', for: 'provider' },
      auth: { do: 'held', for: 'credential' },
      model_not_found: { do: 'ends' },
      grant: { do: 'held', for: 'grant' },
      crash_loop: { do: 'ends' },
      other: { do: 'ends' },
    })
  })

  it('is tried again after as long as it has lasted, within the bounds of its kind', () => {
    const waits = [0, 10_000, 40_000, 1e9].map((lasted) =>
      recurring.map((kind) => retryDelay(kind, lasted, undefined, least)),
    )
    expect(waits).toEqual([
      [15_000, 10_000, 2000, 2000],
      [15_000, 10_000, 10_000, 10_000],
      [40_000, 40_000, 40_000, 40_000],
      [300_000, 300_000, 60_000, 300_000],
    ])
  })

  it('is tried again when the provider says, at least a second and at most a day later', () => {
    expect([0, 7000, 1e12].map((wanted) => retryDelay('rate_limit', 1e9, wanted, least))).toEqual([
      1000, 7000, 86_400_000,
    ])
  })

  it('is never tried before its time, and at most a fifth later', () => {
    const lasted = fc.integer({ min: 0, max: 1e9 })
    const wanted = fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined })
    const chance = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(fc.constantFrom(...recurring), lasted, wanted, chance, (kind, ms, delay, random) => {
        const wait = retryDelay(kind, ms, delay, least)
        const spread = retryDelay(kind, ms, delay, () => random)
        return spread >= wait && spread <= wait * 1.2 + 1
      }),
    )
  })
})

describe('a node that is held', () => {
  const at = (ms: number) => new Date(ms).toISOString()
  const fault = (lasted: number): Fault => ({ kind: 'connection', message: 'm', since: at(0), last_at: at(lasted) })

  // Its provider answered the probe and failed every call: without this it was started again with each look.
  it('is tried ever more rarely while every try fails', () => {
    expect([0, 10_000, 1e9].map((lasted) => triableFrom(fault(lasted)) - lasted)).toEqual([2000, 10_000, 60_000])
  })

  it('is tried after ten minutes in any case, not all at the same moment', () => {
    expect([longestHeld(least), longestHeld(() => 1)]).toEqual([600_000, 720_000])
  })
})
