import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { linePattern, literalsOf } from './grep.pattern.js'

describe('linePattern', () => {
  it('finds in either case, and says where', () => {
    expect(linePattern('conn\\w+').find('an ECONNREFUSED here')).toEqual([4, 15])
    expect(linePattern('^conn').find('an ECONNREFUSED here')).toBeNull()
  })

  it.each(['(', 'a{2000}', '(?=x)', '\\1', '[z-a]'])('refuses %s with the reason', (pattern) => {
    expect(() => linePattern(pattern)).toThrow(expect.objectContaining({ code: 'validation_failed' }))
  })

  it('takes time in proportion to the text, whatever the pattern', () => {
    expect(linePattern('(a+)+$').find(`${'a'.repeat(20_000)}!`)).toBeNull()
  })
})

describe('literalsOf', () => {
  it.each([
    ['error', ['error']],
    ['err(or)? code', [' code']],
    ['colou?r red', ['r red']],
    ['abc+def', ['abc']],
    ['abcx*def', ['abc']],
    ['a\\.b\\.c', ['a.b.c']],
    ['foo\\d+barn', ['barn']],
    ['[abc]xyz[^]]more', ['more']],
    ['[[:alpha:]]word', ['word']],
    ['one|two', ['one', 'two']],
    ['one|t', []],
    ['(one|two)three', ['three']],
    ['\\bword\\b', ['word']],
    ['\\x{41}bcd', ['bcd']],
    ['\\p{Greek}bcd', ['bcd']],
    ['x{3}yard', ['yard']],
    ['(?i)word', []],
    ['\\Qword\\E', []],
    ['ab', []],
    ['', []],
    // the long s is a form of s and the Kelvin sign one of k, for one side only
    ['task', []],
    ['déjà vu!', [' vu!']],
  ])('of %s are %p', (pattern, literals) => {
    expect(literalsOf(pattern)).toEqual(literals)
  })

  it('leave out no line that fits, whatever the pattern', () => {
    const piece = fc.constantFrom(
      'abc',
      'xyz',
      'def',
      '\\d',
      '.',
      '[ab]',
      '(abc|xyz)',
      'q?',
      'z*',
      'e+',
      '\\.',
      '|',
      '(?:foo)',
      'b{2}',
    )
    const line = fc.string({
      unit: fc.constantFrom('a', 'b', 'c', 'x', 'y', 'z', 'd', 'e', 'f', 'o', 'q', '.', '1'),
      maxLength: 24,
    })
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 5 }), line, (pieces, text) => {
        const { find, literals } = linePattern(pieces.join(''))
        if (literals.length === 0 || find(text) === null) return
        expect(literals.some((literal) => text.toLowerCase().includes(literal.toLowerCase()))).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})
