import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { contract } from '#common/contract/index.js'
import { readBody } from './body.reader.js'

const read = (body: string | Uint8Array): Promise<unknown> => {
  const raw = new PassThrough()
  const bytes = Buffer.from(body)
  Object.assign(raw, { headers: { 'content-length': String(bytes.length), 'content-type': 'application/json' } })
  raw.end(bytes)
  return readBody(raw as unknown as IncomingMessage, contract['nodes.result.submit'], 1024 * 1024)
}

const nested = (depth: number): string => '[['.repeat(depth / 2) + ']]'.repeat(depth / 2)

describe('a body', () => {
  it('is malformed when it is not UTF-8, instead of being guessed at', () =>
    expect(read(Buffer.from([0x22, 0xff, 0xfe, 0x22]))).rejects.toMatchObject({ code: 'malformed_request' }))

  // What parses in a loop is written by recursion: a body of nothing but brackets was an internal error.
  it('is malformed when it nests deeper than anything that takes it can follow', async () => {
    await expect(read(nested(128))).resolves.toBeDefined()
    await expect(read(nested(130))).rejects.toMatchObject({ code: 'malformed_request' })
    await expect(read(nested(400_000))).rejects.toMatchObject({ code: 'malformed_request' })
    await expect(read(`${'{"a":'.repeat(129)}1${'}'.repeat(129)}`)).rejects.toMatchObject({ code: 'malformed_request' })
  })

  it('may hold any number of brackets beside each other or in text', async () => {
    await expect(read(`[${'[],'.repeat(1000)}0]`)).resolves.toHaveLength(1001)
    await expect(read(JSON.stringify('[{'.repeat(1000)))).resolves.toBe('[{'.repeat(1000))
  })

  it.each([
    ['a prototype', '[{"a":{"__proto__":{}}}]'],
    ['a prototype, in another spelling', String.raw`{"\u005f_proto__":1}`],
    // it was accepted as null
    ['a number that is infinite', '{"a":[1e400]}'],
    ['a number that is minus infinite', '-1e999'],
    ['a number of too many digits', '9'.repeat(400)],
  ])('is malformed when it names %s', (_, body) =>
    expect(read(body)).rejects.toMatchObject({ code: 'malformed_request' }),
  )

  it('may speak of prototypes, and have the largest of numbers', async () => {
    await expect(read('{"text":"{\\"__proto__\\":1}"}')).resolves.toEqual({ text: '{"__proto__":1}' })
    await expect(read('1.7976931348623157e308')).resolves.toBe(Number.MAX_VALUE)
  })

  // It was kept as another number, or as U+FFFD: of two keys that differ only there the second event was lost.
  it.each([
    ['{"id":9007199254740993}', '/id', /at \/id .* as 9007199254740992: send it as a string/],
    ['{"a":[12345678901234567890123]}', '/a/0', /as 1.2345678901234568e\+22: send it as a string/],
    ['-9007199254740993', '', /^The body is a whole number/],
    [String.raw`{"events":[{"dedupe_key":"\ud800"}]}`, '/events/0/dedupe_key', /half of a surrogate pair/],
    [String.raw`{"\uDFFF":1}`, '/\ufffd', /half of a surrogate pair/],
  ])('is malformed when it would not be kept as it was sent: %s', (body, pointer, message) =>
    expect(read(body)).rejects.toMatchObject({
      code: 'malformed_request',
      message: expect.stringMatching(message),
      fields: { errors: [{ pointer, message: expect.any(String) }] },
    }),
  )

  it('may hold numbers that doubles hold, fractions, and whole characters in any spelling', async () => {
    const text = String.raw`{"\ud83d\ude00":["a\uD83D\uDE00b\\ud800",9007199254740992,1.00000000000000001]}`
    await expect(read(text)).resolves.toEqual({ '😀': ['a😀b\\ud800', 2 ** 53, 1] })
  })

  it('is read as what it says, whatever it says, and written as it was read', () =>
    fc.assert(
      fc.asyncProperty(fc.json({ stringUnit: 'binary' }), async (sent) => {
        fc.pre(!sent.includes('__proto__'))
        const text = JSON.stringify(JSON.parse(sent))
        expect(JSON.stringify(await read(text))).toBe(text)
      }),
    ))

  it('has each whole number as it was sent, or is refused', () =>
    fc.assert(
      fc.asyncProperty(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.bigInt(0n, 99n), async (any, few) => {
        for (const whole of [any, 2n ** 53n + few, -(10n ** 16n) - few]) {
          const sent = `{"a":${whole}}`
          const kept = await read(sent).catch(({ code }) => code)
          if (kept !== 'malformed_request') expect(JSON.stringify(kept)).toBe(sent)
        }
      }),
    ))
})
