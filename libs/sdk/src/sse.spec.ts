import { describe, expect, it } from '@jest/globals'
import { EventParser } from './sse.js'

const whole =
  '\uFEFFid: 1\r\nevent: a\r\ndata: {"x":\r\ndata: 1}\r\n\r\n: heartbeat\n\ndata:bare\n\nid\nevent: empty\n\nretry: 5\rdata: cr\r\r'

describe('the parser of server-sent events', () => {
  it('reads fields, several lines of data, comments and every line end', () => {
    expect(new EventParser().push(`${whole}\n`)).toEqual([
      { id: '1', name: 'a', data: '{"x":\n1}' },
      { id: undefined, name: 'message', data: 'bare' },
      { id: undefined, name: 'message', data: 'cr' },
    ])
  })

  it('gives the same however the text is cut', () => {
    const expected = new EventParser().push(`${whole}\n`)
    for (let size = 1; size < 9; size += 1) {
      const parser = new EventParser()
      const found = []
      for (let at = 0; at <= whole.length; at += size) found.push(...parser.push(`${whole}\n`.slice(at, at + size)))
      expect(found).toEqual(expected)
    }
  })
})
