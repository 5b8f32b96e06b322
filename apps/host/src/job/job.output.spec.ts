import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { JobOutputWriter, readOutput } from './job.output.js'

const mebibyte = 1024 * 1024
let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-job-output-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const written = (...chunks: Buffer[]): JobOutputWriter => {
  const writer = new JobOutputWriter(directory)
  for (const chunk of chunks) writer.add(chunk)
  return writer
}

/** All pages from the beginning, as a reader gets them. */
const readAll = async (size: number, limit: number): Promise<string> => {
  let content = ''
  for (let offset = 0; ; ) {
    const page = await readOutput(directory, { offset, limit, size, running: false })
    content += page.content
    if (page.next_offset >= size) return content
    expect(page.next_offset).toBeGreaterThan(offset)
    offset = page.next_offset
  }
}

describe('the output of a job', () => {
  it('is read whole by pages of any size, no character cut in two', async () => {
    const part = fc.constantFrom('plain ', 'ü', '€', '😀', '\n')
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), async (parts, limit) => {
        for (const name of readdirSync(directory)) rmSync(join(directory, name))
        const text = parts.join('')
        const writer = written(Buffer.from(text))
        expect(await readAll(writer.size, limit)).toBe(text)
        writer.close()
      }),
      { numRuns: 60 },
    )
  })

  it('takes room for 9 MiB at most, and is truncated as soon as something is missing', async () => {
    const writer = written(Buffer.alloc(9 * mebibyte, 'a'))
    expect(writer.truncated).toBe(false)
    expect(await readOutput(directory, { offset: 0, limit: 9, size: writer.size, running: true })).toMatchObject({
      truncated: false,
      omitted: null,
    })
    for (let count = 0; count < 5; count += 1) writer.add(Buffer.alloc(mebibyte, 'b'))
    expect(writer.truncated).toBe(true)
    expect(readdirSync(directory)).toHaveLength(9)
    const page = await readOutput(directory, { offset: 0, limit: 9, size: writer.size, running: true })
    expect(page).toMatchObject({ truncated: true, omitted: { from: mebibyte, to: 6 * mebibyte }, size: 14 * mebibyte })
    writer.close()
  })

  it('goes on past a character that lies half in what was left out', async () => {
    const writer = written(Buffer.from('x'), Buffer.from('ü'.repeat(6 * mebibyte)))
    let content = ''
    for (let offset = mebibyte - 3; content.length < 4; ) {
      const page = await readOutput(directory, { offset, limit: 4, size: writer.size, running: true })
      content += page.content
      expect(page.next_offset).toBeGreaterThan(offset)
      offset = page.next_offset
    }
    expect(content).toMatch(/^ü\ufffdüü?$|^ü?\ufffdüüü?$/)
    writer.close()
  })

  it('waits for the rest of a character while the job runs, and shows what there is once it has ended', async () => {
    const writer = written(Buffer.from([0x61, 0xe2, 0x82]))
    const page = { offset: 0, limit: 100, size: 3 }
    expect(await readOutput(directory, { ...page, running: true })).toMatchObject({ content: 'a', next_offset: 1 })
    expect(await readOutput(directory, { ...page, running: false })).toMatchObject({
      content: 'a\ufffd',
      next_offset: 3,
    })
    writer.close()
  })

  it('is counted on when the disk takes no more, and says that the rest is missing', async () => {
    const writer = written(Buffer.from('kept'))
    rmSync(directory, { recursive: true })
    writer.add(Buffer.alloc(2 * mebibyte))
    expect(writer).toMatchObject({
      truncated: true,
      size: 2 * mebibyte + 4,
      refusal: expect.stringContaining('ENOENT'),
    })
    const { mkdirSync } = await import('node:fs')
    mkdirSync(directory)
    const page = await readOutput(directory, { offset: 0, limit: 10, size: writer.size, running: false })
    expect(page).toMatchObject({ content: '', next_offset: writer.size, omitted: { from: 0, to: writer.size } })
  })
})
