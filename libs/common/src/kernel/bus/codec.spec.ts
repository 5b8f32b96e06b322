import { describe, expect, it } from '@jest/globals'
import type { Envelope } from '../context.js'
import { decode, encode, encodeItem, encodeItems, type Request } from './codec.js'

const ctx: Envelope = {
  actor: { kind: 'owner', principal: 'owner', tokenId: null, scopes: ['*'] },
  requestId: 'req',
}
const long = `"a\\b\n${'\u00e4\u{1f642}'.repeat(20_000)}\0`
const asked = (input: unknown): Request => ({ ctx, input })
const crossed = <T>(message: T): T => decode<T>(encode(message as Request))

describe('a message on the wire', () => {
  it('keeps text outside ASCII', () => {
    expect(decode(encode({ output: 'naïve – 日本 🜚' }))).toEqual({ output: 'naïve – 日本 🜚' })
  })

  it('reads a message that lies inside a larger buffer', () => {
    const message = encode({ output: 1 })
    const larger = Buffer.concat([Buffer.from('xx'), message, Buffer.from('yy')])
    expect(decode(larger.subarray(2, 2 + message.length))).toEqual({ output: 1 })
  })

  it('sends an answer without a value as one without output', () => {
    expect(decode(encode({ output: undefined }))).toEqual({})
  })

  it('puts items that are encoded already into one frame', () => {
    const items = [encodeItem({ a: 'é"' }), encodeItem(undefined), encodeItem(3)]
    expect(decode(encodeItems(7, 12, items))).toEqual({ t: 'items', n: 7, bytes: 12, items: [{ a: 'é"' }, null, 3] })
  })

  it('refuses bytes that are not JSON', () => {
    expect(() => decode(Buffer.from('{'))).toThrow(SyntaxError)
  })

  it('is JSON', () => {
    expect(encode({ output: { name: 'x' } }).toString()).toBe('{"output":{"name":"x"}}')
  })

  it('carries long texts beside its JSON, as they are', () => {
    const request = asked({ path: '/x', content: long, base64: undefined, other: long.slice(1), parents: true })
    expect(crossed(request)).toEqual(asked({ path: '/x', content: long, other: long.slice(1), parents: true }))
    expect(encode(request).includes(Buffer.from(long))).toBe(true)
    const answer = { output: { content: long, size: 3 }, replayed: true as const }
    expect(crossed(answer)).toEqual(answer)
  })

  it.each([
    ['a text by itself', long],
    ['texts in a list', [long]],
    ['a text deeper down', { inner: { long } }],
    ['half a surrogate pair', { long: `${long}\ud83d` }],
    ['nothing', null],
  ])('keeps %s', (_, input) => {
    expect(crossed(asked(input))).toEqual(asked(input))
  })

  it('is refused when it was cut short or goes on', () => {
    const whole = encode(asked({ content: long }))
    for (const bytes of [
      whole.subarray(0, 3),
      whole.subarray(0, 40),
      whole.subarray(0, -1),
      Buffer.concat([whole, whole]),
    ]) {
      expect(() => decode(bytes)).toThrow(SyntaxError)
    }
  })
})
