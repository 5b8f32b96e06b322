import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
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

  // The record held U+FFFD where the answer still held half a pair.
  it('has the replacement character where half of a surrogate pair stood, as its record will', () =>
    expect(read(String.raw`{"\ud800":"a\uD83D\uDE00b\udc00\\ud800\ud800\ud83d\ude00"}`)).resolves.toEqual({
      '\ufffd': 'a😀b\ufffd\\ud800\ufffd😀',
    }))
})
