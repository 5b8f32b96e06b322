import { mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ConfinedFiles } from './confined.files.js'
import { NameSelection } from './name.selection.js'

let cwd: string
let files: ConfinedFiles

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'svc-list-'))
  files = new ConfinedFiles({ cwd, roots: [{ at: cwd, real: cwd, mode: 'read' }], frozen: [], hidden: [] })
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

describe('a page', () => {
  it('tells what each entry is, without following a link', async () => {
    mkdirSync(join(cwd, 'sub'), { mode: 0o750 })
    writeFileSync(join(cwd, 'file'), '12345', { mode: 0o640 })
    symlinkSync('/nowhere', join(cwd, 'link'))
    const { entries, path, next } = await files.list('.', { limit: 10 })
    expect(path).toBe(cwd)
    expect(next).toBeUndefined()
    expect(entries).toEqual([
      { name: 'file', type: 'file', size: 5, mode: 0o640, mtimeMs: expect.any(Number) },
      { name: 'link', type: 'symlink', size: 8, mode: 0o777, mtimeMs: expect.any(Number), target: '/nowhere' },
      { name: 'sub', type: 'directory', size: expect.any(Number), mode: 0o750, mtimeMs: expect.any(Number) },
    ])
  })

  it('follows the one before by the bytes of the names, whatever is made and removed meanwhile', async () => {
    const names = Array.from({ length: 25 }, (_, at) => `n${String(at).padStart(2, '0')}`)
    for (const name of [...names, 'Z', 'ä', '\u{10000}', '\uffff']) writeFileSync(join(cwd, name), '')
    const found: string[] = []
    let after: string | undefined
    do {
      const page = await files.list('.', { limit: 5, ...(after !== undefined && { after }) })
      expect(page.entries.length).toBeLessThanOrEqual(5)
      found.push(...page.entries.map(({ name }) => Buffer.from(name, 'latin1').toString()))
      after = page.next
      if (found.length === 5) {
        unlinkSync(join(cwd, 'n03'))
        writeFileSync(join(cwd, 'A'), '')
      }
    } while (after !== undefined)
    expect(found).toEqual(['Z', ...names, 'ä', '\uffff', '\u{10000}'])
  })

  it('ends exactly where the directory does', async () => {
    for (const name of ['a', 'b']) writeFileSync(join(cwd, name), '')
    expect((await files.list('.', { limit: 2 })).next).toBeUndefined()
    expect((await files.list('.', { limit: 1 })).next).toBe('a')
    expect(await files.list('.', { limit: 1, after: 'b' })).toMatchObject({ entries: [], next: undefined })
  })

  it('is given up when nobody waits for it', async () => {
    writeFileSync(join(cwd, 'a'), '')
    await expect(files.list('.', { limit: 1, signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow('left')
  })
})

describe('the selection of names', () => {
  it('keeps the smallest, in whatever order they come', () => {
    let state = 1
    const random = (): number => {
      state = (state * 48_271) % 2_147_483_647
      return state
    }
    for (const size of [1, 2, 7, 100]) {
      const names = Array.from({ length: 500 }, () => `n${random() % 10_000}`)
      const selection = new NameSelection(size)
      for (const name of names) selection.add(name)
      expect(selection.sorted()).toEqual(names.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).slice(0, size))
    }
  })
})
