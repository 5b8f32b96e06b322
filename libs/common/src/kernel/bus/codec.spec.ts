import { describe, expect, it } from '@jest/globals'
import { decode, encode, encodeItem, encodeItems } from './codec.js'

describe('codec', () => {
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
})
