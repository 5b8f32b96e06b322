import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { newId } from '#common/kernel/ids.js'
import { cursorAfter, pageOf, readCursor } from './cursor.js'

describe('a cursor', () => {
  it('is read back as it was made', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), (ms) => {
        for (const id of [newId('node'), `${newId('cron')}:${ms}`])
          expect(readCursor(cursorAfter(new Date(ms), id))).toEqual({ createdAt: new Date(ms), id })
      }),
    )
    expect(readCursor(undefined)).toBeUndefined()
  })

  it('of somebody else is refused, whatever it is', () => {
    const refused = (text: string): boolean => {
      try {
        return readCursor(text) === undefined
      } catch (error) {
        return (error as { code: string }).code === 'validation_failed'
      }
    }
    expect(
      ['', 'x', 'MTIz', Buffer.from('1.').toString('base64url'), Buffer.from(`1.a'b`).toString('base64url')].every(
        refused,
      ),
    ).toBe(true)
    fc.assert(fc.property(fc.string({ maxLength: 40 }), (text) => refused(text)))
  })
})

describe('a page', () => {
  it('holds at most the limit, and names the next only when there is more', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 20 }), fc.integer({ min: 1, max: 19 }), (rows, limit) => {
        const page = pageOf(rows.slice(0, limit + 1), limit, String)
        expect(page.data).toEqual(rows.slice(0, limit))
        expect(page.has_more).toBe(rows.length > limit)
        expect(page.next_cursor).toBe(rows.length > limit ? String(rows[limit - 1]) : null)
      }),
    )
  })
})
