import { describe, expect, it } from '@jest/globals'
import { BashOutput } from './bash.output.js'

const outputOf = (limit: number, ...chunks: (string | Buffer)[]): BashOutput => {
  const output = new BashOutput(limit)
  for (const chunk of chunks) output.add(Buffer.from(chunk as string))
  return output
}

describe('output of a command', () => {
  it('is told whole while it fits', () => {
    expect(outputOf(10, '01234', '56789').text()).toEqual({ text: '0123456789', truncated: false })
    expect(outputOf(10).text()).toEqual({ text: '', truncated: false })
  })

  it('keeps its beginning and its end, and says how many bytes are missing', () => {
    const { text, truncated } = outputOf(10, 'abcdefgh', 'ijkl', 'mnopqrstuvwxyz').text()
    expect(text).toBe('abcde\n[… 16 bytes left out …]\nvwxyz')
    expect(truncated).toBe(true)
  })

  it('is never cut within a character, on either side', () => {
    for (let shift = 0; shift < 4; shift += 1) {
      const text = 'x'.repeat(shift) + '🦉é€'.repeat(40)
      const told = outputOf(64, text).text().text
      expect(told).not.toContain('\ufffd')
      const [head = '', gap = '', tail = ''] = told.split('\n')
      const omitted = Number(/\d+/.exec(gap)?.[0])
      expect(text.startsWith(head) && text.endsWith(tail)).toBe(true)
      expect(Buffer.byteLength(head + tail) + omitted).toBe(Buffer.byteLength(text))
    }
  })

  it('replaces what is no UTF-8', () => {
    expect(outputOf(10, Buffer.from([0x61, 0xff, 0xc3, 0x62])).text().text).toBe('a\ufffd\ufffdb')
    expect(outputOf(8, Buffer.alloc(100, 0x80)).text().truncated).toBe(true)
  })

  it('can be told shorter than it was kept', () => {
    const output = outputOf(100, 'a'.repeat(50), 'z'.repeat(50))
    expect(output.text(10).text).toBe('aaaaa\n[… 90 bytes left out …]\nzzzzz')
  })

  it('is the same however it came in pieces', () => {
    const whole = Buffer.from('0123456789'.repeat(500))
    const singly = new BashOutput(100)
    for (const byte of whole) singly.add(Buffer.from([byte]))
    expect(singly.text()).toEqual(outputOf(100, whole).text())
    expect(singly.bytes).toBe(5000)
  })

  it('takes no more memory for a gigabyte than for a megabyte', () => {
    const output = new BashOutput(1024 * 1024)
    const chunk = Buffer.alloc(64 * 1024, 0x61)
    let most = 0
    for (let sent = 0; sent < 16 * 1024; sent += 1) {
      output.add(chunk)
      most = Math.max(most, output.held)
    }
    expect(output.bytes).toBe(1024 ** 3)
    expect(most).toBeLessThan(3 * 1024 * 1024)
    expect(output.text().text.length).toBeLessThan(1024 * 1024 + 64)
  })
})
