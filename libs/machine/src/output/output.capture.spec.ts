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
    expect(capture.text()).toBe(
      `ab\n[… 8 bytes left out here; all but the last 4 bytes are in ${file}: read it with offset and limit …]\nkl`,
    )
    rmSync(directory, { recursive: true })
  })

  it('names the file as the whole only when it is', () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-capture-'))
    const file = join(directory, 'c1.log')
    const capture = new OutputCapture({ head: 2, tail: 2, file })
    for (const part of ['ab', 'cd', 'ef']) capture.add(Buffer.from(part))
    capture.close()
    expect(capture.text()).toContain(`the whole output is in ${file}:`)
    rmSync(directory, { recursive: true })
  })

  // A directory that may not be made, for one, used to take the broker down in the middle of a command.
  it('goes on without a file that can not be written, and says why', () => {
    const capture = new OutputCapture({ head: 2, tail: 2, file: '/dev/null/c1.log' })
    for (const part of ['ab', 'cd', 'ef', 'gh']) capture.add(Buffer.from(part))
    capture.close()
    expect(capture.text()).toMatch(/^ab\n\[… 4 bytes left out here; they could not be kept \(EEXIST.*\) …\]\ngh$/)
  })

  it('holds little of an output without an end', () => {
    const capture = new OutputCapture({ head: 1024, tail: 1024 })
    const chunk = Buffer.alloc(64 * 1024, 'x')
    for (let written = 0; written < 256; written += 1) capture.add(chunk)
    expect(capture.bytes).toBe(16 * 1024 * 1024)
    expect(capture.text().length).toBeLessThan(2200)
  })
})
