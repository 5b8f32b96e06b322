import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Delta } from '#common/contract/node.schema.js'
import { TextOffsets } from './text.offsets.js'

const delta = (offset: number, text: string): Delta => ({ generation: 1, message: 1, channel: 'text', offset, text })
const part = (text: string, truncated = false) => ({ generation: 1, message: 1, channel: 'text', text, truncated })

describe('the text of a message in progress', () => {
  it('is handed out whole and once, whatever pieces of it come in order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(20), fc.integer({ min: 1, max: 8 })), { maxLength: 30 }), (pieces) => {
        const whole = 'abcdefghijklmnopqrstuvwxyz0123456789'
        const offsets = new TextOffsets()
        let shown = ''
        for (const [offset, length] of pieces) {
          const fresh = offsets.advance('n', delta(offset, whole.slice(offset, offset + length)))
          if (fresh === null) continue
          if (fresh === 'gap') expect(offset).toBeGreaterThan(shown.length)
          else {
            expect(fresh.offset).toBe(shown.length)
            shown += fresh.text
          }
        }
        expect(whole.startsWith(shown)).toBe(true)
      }),
    )
  })

  it('goes on after a snapshot, the beginning of which may be missing', () => {
    const offsets = new TextOffsets()
    expect(offsets.advance('n', delta(5, 'x'))).toBe('gap')
    offsets.learn('n', part('abc', true))
    expect(offsets.advance('n', delta(900, 'x'))).toEqual(delta(900, 'x'))
    expect(offsets.advance('n', delta(950, 'x'))).toBe('gap')
  })

  it('is not thought further than it was shown to all', () => {
    const offsets = new TextOffsets()
    offsets.advance('n', delta(0, 'ab'))
    offsets.suppose('n', part('abcd'))
    expect(offsets.advance('n', delta(2, 'cd'))).toEqual(delta(2, 'cd'))
  })
})
