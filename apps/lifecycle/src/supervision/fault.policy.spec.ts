import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { faultKinds } from '#common/contract/node.schema.js'
import { isPassing, retryDelay } from './fault.policy.js'

const passing = ['rate_limit', 'overloaded', 'connection'] as const
const least = () => 0

describe('a fault', () => {
  it.each(faultKinds)('of kind %s is tried again only if it passes by itself', (kind) => {
    expect(isPassing(kind)).toBe((passing as readonly string[]).includes(kind))
  })

  it('is tried again after as long as it has lasted, within the bounds of its kind', () => {
    const waits = [0, 10_000, 40_000, 1e9].map((lasted) =>
      passing.map((kind) => retryDelay(kind, lasted, undefined, least)),
    )
    expect(waits).toEqual([
      [15_000, 10_000, 5000],
      [15_000, 10_000, 10_000],
      [40_000, 40_000, 40_000],
      [300_000, 300_000, 60_000],
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
      fc.property(fc.constantFrom(...passing), lasted, wanted, chance, (kind, ms, delay, random) => {
        const wait = retryDelay(kind, ms, delay, least)
        const spread = retryDelay(kind, ms, delay, () => random)
        return spread >= wait && spread <= wait * 1.2 + 1
      }),
    )
  })
})
