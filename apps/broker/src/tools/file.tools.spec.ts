import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ConfinedFiles } from './confined.path.js'
import { editTool } from './edit.tool.js'
import { SeenFiles } from './file.seen.js'
import { listTool } from './list.tool.js'
import { readTool } from './read.tool.js'
import type { Tool } from './tool.js'
import { writeTool } from './write.tool.js'

let home: string
let cwd: string
let files: ConfinedFiles
const seen = new SeenFiles()

const run = (tool: Tool, input: Record<string, unknown>): Promise<string> =>
  tool
    .run(input, { turn: 1, callId: 'c1', repeated: false, signal: new AbortController().signal, tell: () => undefined })
    .then(({ output }) => output)
const put = (name: string, text: string): string => {
  const path = join(cwd, name)
  writeFileSync(path, text)
  return path
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-tools-'))
  cwd = join(home, 'work')
  mkdirSync(cwd)
  mkdirSync(join(home, 'scratch'))
  writeFileSync(join(home, 'secret'), 'key')
  files = new ConfinedFiles(cwd, join(home, 'scratch'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

describe('changes that are asked for together', () => {
  // Both read the file before either had written it, and one of the two was lost.
  it('all take effect, in their order', async () => {
    put('a.txt', 'one\ntwo\nthree\n')
    const edit = (old_text: string, new_text: string) =>
      run(editTool(files, seen), { path: 'a.txt', old_text, new_text })
    const failing = edit('four', '4')
    await Promise.all([edit('one', '1'), edit('two', '2'), edit('2\nthree', '2\n3'), failing.catch(() => undefined)])
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('1\n2\n3\n')
    await expect(failing).rejects.toThrow(/does not occur/)
  })
})

describe('confinement', () => {
  it.each(['../secret', '/etc/passwd', 'a/../../secret'])(
    'refuses to read %s, whether it exists or not',
    async (path) => {
      await expect(run(readTool(files, seen), { path })).rejects.toThrow(/path_outside_scope/)
      await expect(run(readTool(files, seen), { path: `${path}-absent` })).rejects.toThrow(/path_outside_scope/)
    },
  )

  it('judges a link by where it leads', async () => {
    symlinkSync(join(home, 'secret'), join(cwd, 'link'))
    symlinkSync(home, join(cwd, 'up'))
    for (const path of ['link', 'up/secret']) {
      await expect(run(readTool(files, seen), { path })).rejects.toThrow(/path_outside_scope/)
      await expect(run(writeTool(files, seen), { path, content: 'x' })).rejects.toThrow(/path_outside_scope/)
    }
    await expect(run(writeTool(files, seen), { path: 'up/new/file', content: 'x' })).rejects.toThrow(
      /path_outside_scope/,
    )
    await expect(run(listTool(files), { path: 'up' })).rejects.toThrow(/path_outside_scope/)
    expect(readFileSync(join(home, 'secret'), 'utf8')).toBe('key')
  })

  it('makes no file through a link that leads out to nothing', async () => {
    symlinkSync(join(home, 'fresh'), join(cwd, 'dangling'))
    await expect(run(writeTool(files, seen), { path: 'dangling', content: 'x' })).rejects.toThrow(/path_outside_scope/)
    expect(statSync(join(home, 'fresh'), { throwIfNoEntry: false })).toBeUndefined()
  })

  it('follows a link that stays inside, and keeps it', async () => {
    put('real.txt', 'old')
    symlinkSync('real.txt', join(cwd, 'link'))
    await run(readTool(files, seen), { path: 'link' })
    await run(writeTool(files, seen), { path: 'link', content: 'new' })
    expect(readFileSync(join(cwd, 'real.txt'), 'utf8')).toBe('new')
  })

  it('lets the scratch directory be read but not written', async () => {
    const log = join(home, 'scratch', 'c1.log')
    writeFileSync(log, 'whole output')
    expect(await run(readTool(files, seen), { path: log })).toContain('whole output')
    await expect(run(writeTool(files, seen), { path: log, content: '' })).rejects.toThrow(/path_outside_scope/)
  })
})
