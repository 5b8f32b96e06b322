import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { passageLength, piecesOf } from './passage.js'

const joined = (text: string): string =>
  piecesOf(text)
    .map(({ body }) => body)
    .join('')

describe('piecesOf', () => {
  it('leaves a short text whole, and a blank one out', () => {
    expect(piecesOf('one\ntwo')).toEqual([{ line: 1, body: 'one\ntwo' }])
    expect(piecesOf(' \n ')).toEqual([])
  })

  it('cuts a long text after lines, and counts them', () => {
    const text = Array.from({ length: 3000 }, (_, at) => `line ${at + 1}\n`).join('')
    const pieces = piecesOf(text)
    expect(pieces.length).toBeGreaterThan(3)
    expect(joined(text)).toBe(text)
    for (const { line, body } of pieces) {
      expect(body.length).toBeLessThanOrEqual(passageLength)
      expect(body.startsWith(`line ${line}\n`)).toBe(true)
    }
  })

  it('cuts a line without an end, but never a character', () => {
    const text = `a${'😀'.repeat(passageLength)}`
    expect(joined(text)).toBe(text)
    for (const { body } of piecesOf(text)) expect(body.isWellFormed()).toBe(true)
  })

  it('stores what Postgres does not take in another form', () => {
    expect(piecesOf('a\0b\ud800')).toEqual([{ line: 1, body: 'a\u{fffd}b\u{fffd}' }])
  })

  it('loses nothing that is not blank, of any text', () => {
    const texts = fc.array(fc.constantFrom('word ', '\n', 'x'.repeat(5000), '😀'), { maxLength: 40 })
    fc.assert(
      fc.property(texts, (parts) => {
        const text = parts.join('')
        expect(joined(text).replace(/\s/g, '')).toBe(text.replace(/\s/g, ''))
      }),
    )
  })
})
