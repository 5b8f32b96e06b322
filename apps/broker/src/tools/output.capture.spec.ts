import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { OutputCapture } from './output.capture.js'

describe('output', () => {
  it('is kept as it is while it is short', () => {
    const capture = new OutputCapture({ head: 4, tail: 4 })
    for (const part of ['ab', 'cdef', 'gh']) capture.add(Buffer.from(part))
    expect(capture.text()).toBe('abcdefgh')
    expect(capture.truncated).toBe(false)
  })

  it('keeps its beginning and its end, and says how much is missing', () => {
    const capture = new OutputCapture({ head: 3, tail: 3 })
    for (const digit of '0123456789') capture.add(Buffer.from(digit))
    expect(capture.text()).toBe('012\n[… 4 bytes left out here …]\n789')
  })

  it('cuts between characters, never inside one', () => {
    const capture = new OutputCapture({ head: 4, tail: 4 })
    capture.add(Buffer.from('äöü€äöü'))
    const said = capture.text(() => '…')
    expect(said).not.toContain('\uFFFD')
    expect(said).toBe('äö\n…\nöü')
  })

  it('puts the whole into a file once it is too long, up to a limit', () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-capture-'))
    const file = join(directory, 'node', 'c1.log')
    const capture = new OutputCapture({ head: 2, tail: 2, file, fileLimit: 8 })
    for (const part of ['ab', 'cd', 'ef', 'ghijkl']) capture.add(Buffer.from(part))
    capture.close()
    expect(readFileSync(file, 'utf8')).toBe('abcdefgh')
    expect(capture.text()).toBe(`ab\n[… 8 bytes left out here; the whole output is in ${file} …]\nkl`)
    rmSync(directory, { recursive: true })
  })

  it('holds little of an output without an end', () => {
    const capture = new OutputCapture({ head: 1024, tail: 1024 })
    const chunk = Buffer.alloc(64 * 1024, 'x')
    for (let written = 0; written < 256; written += 1) capture.add(chunk)
    expect(capture.bytes).toBe(16 * 1024 * 1024)
    expect(capture.text().length).toBeLessThan(2200)
  })
})
