import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { lossIn, mayLose } from './exact.js'

const wholeNumber = expect.stringContaining('send it as a string')
const halfPair = expect.stringContaining('half of a surrogate pair')

describe('a JSON text', () => {
  it.each([
    ['9007199254740993', ''],
    ['-9007199254740993', ''],
    ['12345678901234567890123', ''],
    // a double, and yet every JSON writer writes 1152921504606847000 for it
    ['1152921504606846976', ''],
    ['{"id":9007199254740993}', '/id'],
    ['{"a":[{"b":1},[0, "x,y:[{", 9007199254740993]]}', '/a/1/2'],
    ['{"\\"a/b~":{"c":null,\n "d" : \t-9007199254740993}}', '/"a~1b~0/d'],
    ['[[],{},{"a":{}},9007199254740993]', '/3'],
    ['{"":9007199254740993}', '/'],
    [`[${'9'.repeat(300)}]`, '/0'],
  ])('loses the whole number of %s', (text, pointer) => {
    expect(lossIn(text)).toEqual({ pointer, message: wholeNumber })
    expect(mayLose(text)).toBe(true)
  })

  it.each([
    [String.raw`"\ud800"`, ''],
    [String.raw`["a\uDFFF"]`, '/0'],
    [String.raw`{"a":"\ude00\ud83d"}`, '/a'],
    [String.raw`{"a":{"b\\\ud83dc":1}}`, '/a/b\\\ufffdc'],
  ])('loses half of a pair in %s', (text, pointer) => {
    expect(lossIn(text)).toEqual({ pointer, message: halfPair })
    expect(mayLose(text)).toBe(true)
  })

  it('loses a number that is beyond all', () =>
    expect(lossIn('{"a":[1,-1e400]}')).toMatchObject({ pointer: '/a/1', message: wholeNumber }))

  it.each([
    '9007199254740992',
    '-9007199254740994',
    '1152921504606847000',
    '100000000000000000000000',
    '9007199254740993.5',
    '9007199254740993e0',
    '0.12345678901234567890123',
    '-0',
    '["9007199254740993","a:9007199254740993,"]',
    String.raw`["\\ud800","\ud83d\ude00","a\uD83D\uDE00b"]`,
    String.raw`{"\\":"\\\"","\"":[true,null,1e-400]}`,
    ' { } ',
  ])('loses nothing of %s', (text) => expect(lossIn(text)).toBeUndefined())

  it('says what would be kept, and no more of where than can be read', () => {
    expect(lossIn('[9007199254740993]')?.message).toContain('would be kept as 9007199254740992: send it as a string')
    expect(lossIn(`{"${'x'.repeat(5000)}":9007199254740993}`)?.pointer).toMatch(/^\/x{199}…$/)
  })

  // What a program in JavaScript sends of the doubles that it has, and of what it was once given, is never refused.
  it('loses nothing when it was written from values, and each place of one that does is found', () =>
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary', maxDepth: 5 }), (text) => {
        const written = JSON.stringify(JSON.parse(text))
        expect(lossIn(written)).toBeUndefined()
        const put = (value: string) => `{"a\\n":[${written},{"b":${written},"":${value}}]}`
        expect(lossIn(put('-9007199254740993'))).toEqual({ pointer: '/a\n/1/', message: wholeNumber })
        expect(lossIn(put('"\\udfff"'))).toEqual({ pointer: '/a\n/1/', message: halfPair })
      }),
    ))

  it('is told from others at a glance, wherever a long number begins', () => {
    const piece = fc.constantFrom(
      '1',
      '1234567',
      '9'.repeat(15),
      '9'.repeat(16),
      '9'.repeat(50),
      '-',
      ',',
      '.',
      '"',
      'a',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('')
        expect(mayLose(text)).toBe(/(?:^|[[,:\s-])\d{16}/.test(text))
      }),
    )
  })

  it('loses nothing exactly when each of its whole numbers is written back as it was', () =>
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), fc.bigInt(), (one, other) => {
        for (const whole of [one, other, BigInt(Number(one)), 2n ** 53n + (other % 100n)]) {
          const back = String(Number(whole)).replace(/e.*/, '')
          const [first = '', rest = ''] = back.split('.')
          const same = (first + rest).replace(/0+$/, '') === String(whole).replace(/0+$/, '')
          expect(lossIn(String(whole)) === undefined).toBe(same)
          if (!same) expect(mayLose(`{"a":${whole}}`)).toBe(true)
        }
      }),
    ))
})
