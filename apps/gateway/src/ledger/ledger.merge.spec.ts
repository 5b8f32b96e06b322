import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import { readCursor } from '#common/kernel/database/cursor.js'
import { pageOfParts } from './ledger.merge.js'

const entry = (at: number, id: string): LedgerEntry => ({ at: new Date(at).toISOString(), id }) as LedgerEntry

/** Entries of two services, many of them at the same few moments, each id once. */
const parts = fc
  .uniqueArray(
    fc.record({
      at: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_004 }),
      id: fc.tuple(fc.constantFrom('fault_', 'cron_a:', 'req_', 'launch_node_'), fc.nat({ max: 99 })),
      scheduler: fc.boolean(),
    }),
    { maxLength: 60, selector: ({ id }) => id.join('') },
  )
  .map((rows) => {
    const of = (wanted: boolean) =>
      rows.filter(({ scheduler }) => scheduler === wanted).map(({ at, id }) => entry(at, id.join('')))
    return [of(false), of(true)] as const
  })

/** Times are of one length, so that this is the order by (at, id), descending. */
const placeOf = ({ at, id }: LedgerEntry): string => `${at} ${id}`
const newestFirst = (a: LedgerEntry, b: LedgerEntry): number => (placeOf(a) < placeOf(b) ? 1 : -1)

/** What a service answers: its newest below a position. */
const answer = (all: readonly LedgerEntry[], after: string | undefined, limit: number): LedgerEntry[] => {
  const position = readCursor(after)
  const before = position && entry(position.createdAt.getTime(), position.id)
  return all
    .filter((one) => !before || placeOf(one) < placeOf(before))
    .sort(newestFirst)
    .slice(0, limit)
}

describe('pages of what several services keep', () => {
  it('hold each entry once and in order, whatever their size and however many became known at one moment', () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 7 }), (services, limit) => {
        const read: LedgerEntry[] = []
        for (let after: string | undefined, more = true; more; ) {
          const page = pageOfParts(
            services.map((all) => answer(all, after, limit + 1)),
            limit,
          )
          expect(page.data.length).toBeLessThanOrEqual(limit)
          expect(page.has_more).toBe(page.next_cursor !== null)
          read.push(...page.data)
          after = page.next_cursor ?? undefined
          more = page.has_more
        }
        expect(read).toEqual(services.flat().sort(newestFirst))
      }),
    )
  })

  it('go on beside a part that is missing', () => {
    const [one, two] = [entry(2, 'fault_1'), entry(1, 'fault_0')]
    const first = pageOfParts([[one, two], []], 1)
    expect(first).toMatchObject({ data: [one], has_more: true })
    expect(pageOfParts([answer([one, two], first.next_cursor ?? undefined, 2), []], 1)).toEqual({
      data: [two],
      next_cursor: null,
      has_more: false,
    })
  })
})
