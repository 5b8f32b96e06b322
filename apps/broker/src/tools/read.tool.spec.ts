import { mkdirSync, symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { outputOf, runTool, setToolStage } from '../../../../test/support/tool-stage.js'
import { readTool } from './read.tool.js'

const stage = setToolStage()
const read = (input: Record<string, unknown>): Promise<string> => outputOf(readTool(stage.files, stage.seen), input)

/** A PNG of one pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const jpeg = Buffer.concat([
  Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex'),
  Buffer.from('ffc0001108012c0190030122000211010311010000', 'hex'),
])
const sized = (width: number, height: number): Buffer => {
  const bytes = Buffer.from(png)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

describe('read, of a text', () => {
  it('numbers the lines and goes on at an offset', async () => {
    stage.put('a.txt', '\ufeffone\r\ntwo\nthree\n')
    expect(await read({ path: 'a.txt' })).toBe('     1\tone\n     2\ttwo\n     3\tthree')
    expect(await read({ path: 'a.txt', offset: 2, limit: 1 })).toBe(
      '     2\ttwo\n[… lines 3–3 follow: go on with offset: 3 …]',
    )
  })

  it('shows a long file in parts, and says how to go on', async () => {
    stage.put('long.txt', 'x\n'.repeat(2500))
    expect(await read({ path: 'long.txt' })).toContain('[… lines 2001–2500 follow: go on with offset: 2001 …]')
    stage.put('wide.txt', `${'y'.repeat(1500)}\n`.repeat(100))
    const part = await read({ path: 'wide.txt' })
    expect(part.length).toBeLessThan(52_000)
    expect(part).toMatch(/lines (\d+)–100 follow: go on with offset: \1 …\]$/)
  })

  it('cuts a line that is too long, and says so', async () => {
    stage.put('line.txt', `${'x'.repeat(5000)}\nshort\n`)
    const shown = await read({ path: 'line.txt' })
    expect(shown).toContain('[… 3000 characters of this line left out …]\n     2\tshort')
    expect(shown).toContain('Lines longer than 2000 characters are cut')
  })

  it('says when it shows what is not UTF-8', async () => {
    stage.put('latin1.txt', Buffer.from('Gr\u00fc\u00dfe\n', 'latin1'))
    expect(await read({ path: 'latin1.txt' })).toContain('not UTF-8')
  })

  it('stops when it is called off', async () => {
    stage.put('a.txt', 'x\n'.repeat(100_000))
    const tool = readTool(stage.files, stage.seen)
    await expect(runTool(tool, { path: 'a.txt' }, AbortSignal.abort())).rejects.toThrow(/abort/i)
  })
})

describe('read, of what holds no text', () => {
  it('says what it is, and what to do instead', async () => {
    stage.put('empty', '')
    stage.put('binary', Buffer.from([1, 0, 2]))
    stage.put('a.pdf', '%PDF-1.7\n%...')
    stage.put('utf16.txt', Buffer.from('\ufeffhello', 'utf16le'))
    expect(await read({ path: 'empty' })).toBe('empty is empty.')
    await expect(read({ path: 'binary' })).rejects.toThrow('binary is a binary file (3 bytes): look into it with bash')
    await expect(read({ path: 'a.pdf' })).rejects.toThrow('pdftotext')
    await expect(read({ path: 'utf16.txt' })).rejects.toThrow('iconv -f UTF-16')
    await expect(read({ path: '.' })).rejects.toThrow(/directory.*list/)
  })

  it('names what may be meant by a path where nothing is', async () => {
    stage.put('src/config.ts', '')
    stage.put('src/server.ts', '')
    await expect(read({ path: 'src/confg.ts' })).rejects.toThrow('Did you mean src/config.ts?')
    await expect(read({ path: 'src/Server.js' })).rejects.toThrow('Did you mean src/server.ts?')
    await expect(read({ path: 'src/other.md' })).rejects.toThrow('See what is there with list')
    await expect(read({ path: 'lib/deep/a.ts' })).rejects.toThrow('Its directory does not exist either; . does')
    await expect(read({ path: '../secre' })).rejects.not.toThrow('Did you mean')
  })

  it('names the field that is wrong', async () => {
    stage.put('short', 'one')
    await expect(read({})).rejects.toThrow('"path" must be a string, and is missing')
    await expect(read({ path: 7 })).rejects.toThrow('"path" must be a string, not 7')
    await expect(read({ path: 'x'.repeat(5000) })).rejects.toThrow('"path" is longer than 4096 bytes')
    await expect(read({ path: '' })).rejects.toThrow('"path" is empty')
    await expect(read({ path: 'short', offset: 5 })).rejects.toThrow('short has 1 line; offset 5 is beyond its end')
    await expect(read({ path: 'short', limit: 0 })).rejects.toThrow('"limit" must be a whole number from 1 to 2000')
    await expect(read({ path: 'short', offset: 0 })).rejects.toThrow('"offset" must be a whole number of at least 1')
  })
})

describe('read, of an image', () => {
  const answer = (path: string) => runTool(readTool(stage.files, stage.seen), { path })

  it('answers it as an image, by what it holds and not by its name', async () => {
    stage.put('pixel.txt', png)
    stage.put('photo', jpeg.length < 30 ? Buffer.concat([jpeg, Buffer.alloc(30)]) : jpeg)
    expect(await answer('pixel.txt')).toEqual({
      output: `pixel.txt: image/png, 1 × 1 pixels, ${png.length} bytes; shown as an image.`,
      images: [{ content_type: 'image/png', base64: png.toString('base64') }],
    })
    expect((await answer('photo')).output).toContain('image/jpeg, 400 × 300 pixels')
    stage.put('a.gif', Buffer.concat([Buffer.from('GIF89a'), Buffer.from([2, 0, 3, 0]), Buffer.alloc(40)]))
    expect((await answer('a.gif')).output).toContain('image/gif, 2 × 3 pixels')
    const webp = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPVP8X'), Buffer.alloc(8), Buffer.from([9, 0, 0, 4, 0, 0])])
    stage.put('a.webp', Buffer.concat([webp, Buffer.alloc(8)]))
    expect((await answer('a.webp')).output).toContain('image/webp, 10 × 5 pixels')
  })

  it('refuses one that providers would not take, and says how to make it smaller', async () => {
    const large = stage.put('large.png', png)
    truncateSync(large, 4 * 1024 * 1024)
    await expect(answer('large.png')).rejects.toThrow(/4194304 bytes, more than the 3932160.*smaller copy/)
    stage.put('wide.png', sized(9000, 10))
    await expect(answer('wide.png')).rejects.toThrow('9000 × 10 pixels')
  })

  it('refuses one that is cut off before its size, for which providers refuse the conversation', async () => {
    stage.put('cut.png', png.subarray(0, 8))
    stage.put('text.png', Buffer.concat([png.subarray(0, 8), Buffer.from('no image at all, but long enough')]))
    for (const path of ['cut.png', 'text.png']) await expect(answer(path)).rejects.toThrow('cut off or damaged')
  })

  it('reads the size of a JPEG whose markers have filling before them', async () => {
    stage.put(
      'filled.jpg',
      Buffer.concat([jpeg.subarray(0, 2), Buffer.from('ffff', 'hex'), jpeg.subarray(2), Buffer.alloc(9)]),
    )
    expect((await answer('filled.jpg')).output).toContain('400 × 300 pixels')
  })

  it('shows one behind a link inside, and none behind a link outside', async () => {
    stage.put('real.png', png)
    symlinkSync('real.png', join(stage.cwd, 'link.png'))
    mkdirSync(join(stage.home, 'other'))
    symlinkSync(join(stage.home, 'other'), join(stage.cwd, 'away'))
    expect((await answer('link.png')).images).toHaveLength(1)
    await expect(answer('away/x.png')).rejects.toThrow('path_outside_scope')
  })
})
