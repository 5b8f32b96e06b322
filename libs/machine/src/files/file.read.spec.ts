import { appendFileSync, mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ConfinedFiles } from './confined.files.js'
import { type FilePiece, type ReadRequest, wholeCharacters } from './file.read.js'

let cwd: string
let files: ConfinedFiles

const put = (bytes: string | Buffer): void => writeFileSync(join(cwd, 'a'), bytes)
const read = (request: Partial<ReadRequest> = {}): Promise<FilePiece> =>
  files.read('a', { offset: 0, limit: 8, encoding: 'auto', ...request })
const bytesOf = ({ content }: FilePiece): Buffer => ('text' in content ? Buffer.from(content.text) : content.bytes)

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'svc-read-'))
  files = new ConfinedFiles({ cwd, roots: [{ at: cwd, real: cwd, mode: 'read' }], frozen: [], hidden: [] })
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

describe('a read', () => {
  it('goes on from piece to piece and never cuts a character', async () => {
    const text = 'a€😀ü\ufeff\u0000𝄞e\u0301'.repeat(7)
    put(text)
    for (const limit of [4, 5, 6, 7, 8, 64, 1000]) {
      let all = ''
      let offset = 0
      while (offset < Buffer.byteLength(text)) {
        const { content, end, size } = await read({ offset, limit })
        expect(size).toBe(Buffer.byteLength(text))
        expect(end - offset).toBeLessThanOrEqual(limit)
        expect(end).toBeGreaterThan(offset)
        if (!('text' in content)) throw new Error(`no text at ${offset}`)
        all += content.text
        offset = end
      }
      expect(all).toBe(text)
    }
  })

  it('answers bytes where they are no UTF-8, unless text is wanted', async () => {
    const bytes = Buffer.from([0x61, 0xff, 0xe2, 0x82])
    put(bytes)
    expect(await read()).toMatchObject({ content: { bytes }, end: 4, size: 4 })
    expect(await read({ encoding: 'utf8' })).toMatchObject({ content: { text: 'a\ufffd\ufffd' }, end: 4 })
    put('text')
    expect(await read({ encoding: 'base64' })).toMatchObject({ content: { bytes: Buffer.from('text') } })
    put('a€')
    expect(bytesOf(await read({ offset: 2 }))).toEqual(Buffer.from('€').subarray(1))
  })

  it('answers all bytes of a piece that is no text, also when it ends as a character begins', async () => {
    put(Buffer.concat([Buffer.from([0xff, 0x61, 0x61, 0xe2]), Buffer.alloc(8, 0x61)]))
    expect(await read({ limit: 4 })).toMatchObject({
      end: 4,
      content: { bytes: Buffer.from([0xff, 0x61, 0x61, 0xe2]) },
    })
  })

  it('answers nothing behind the end', async () => {
    put('text')
    expect(await read({ offset: 4 })).toMatchObject({ content: { text: '' }, end: 4, size: 4 })
    expect(await read({ offset: 2 ** 50 })).toMatchObject({ content: { text: '' }, size: 4 })
    put('')
    expect(await read()).toMatchObject({ content: { text: '' }, end: 0, size: 0 })
  })

  it('reads a piece of a file of any size', async () => {
    put('')
    truncateSync(join(cwd, 'a'), 2 ** 40)
    appendFileSync(join(cwd, 'a'), 'end')
    expect(await read({ offset: 2 ** 40 })).toMatchObject({ content: { text: 'end' }, size: 2 ** 40 + 3 })
  })

  it('names a time that a calendar holds, whatever the file says', async () => {
    put('text')
    utimesSync(join(cwd, 'a'), 15_000_000_000, 15_000_000_000)
    expect((await read()).mtimeMs).toBe(15_000_000_000_000)
  })
})

describe('the end of a piece', () => {
  it.each([
    ['abc', 3],
    ['ab€', 5],
    [Buffer.from('ab€').subarray(0, 4), 2],
    [Buffer.from('a😀').subarray(0, 4), 1],
    [Buffer.from('ü').subarray(0, 1), 0],
    [Buffer.from([0x80, 0x80, 0x80, 0x80]), 4],
    [Buffer.alloc(0), 0],
  ])('of %p is at %d', (bytes, length) => {
    expect(wholeCharacters(Buffer.from(bytes))).toBe(length)
  })
})
