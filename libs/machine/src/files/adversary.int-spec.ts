import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ConfinedFiles } from './confined.files.js'
import { FileError } from './file.error.js'
import { textOf } from './path.bytes.js'

const built = new URL('../../../../dist/libs/machine/src/files/confined.files.js', import.meta.url).href

let base: string
let cwd: string
let files: ConfinedFiles
let children: ChildProcess[]

/** Runs a program beside the test; it says a line when it has begun. */
const beside = async (program: string, ...args: string[]): Promise<ChildProcess> => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  await once(child.stdout, 'data')
  return child
}

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-adversary-'))
  cwd = join(base, 'work')
  mkdirSync(join(cwd, 'dir'), { recursive: true })
  writeFileSync(join(cwd, 'dir/file'), 'inside')
  mkdirSync(join(base, 'outside/dir'), { recursive: true })
  for (const name of ['outside/file', 'outside/dir/file', 'file']) writeFileSync(join(base, name), 'SECRET')
  files = new ConfinedFiles({ cwd, roots: [{ at: cwd, real: cwd, mode: 'write' }], frozen: [], hidden: [] })
  children = []
})
afterEach(async () => {
  for (const child of children) {
    const ended = once(child, 'exit')
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended
  }
  rmSync(base, { recursive: true, force: true })
})

/** Swaps what the paths below lead through, in every way that one system call can. */
const swapper = `
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
const [cwd, outside] = process.argv.slice(1)
process.chdir(cwd)
symlinkSync(outside, 'to-outside')
symlinkSync(outside + '/file', 'to-file')
symlinkSync('dir', 'to-dir')
mkdirSync('spare/inner', { recursive: true })
writeFileSync('spare/file', 'inside')
process.stdout.write('ready\\n')
const attempt = (...ways) => { for (const way of ways) try { way() } catch {} }
for (;;) {
  attempt(
    () => renameSync('dir', 'dir-away'), () => renameSync('to-outside', 'dir'), () => renameSync('dir', 'to-outside'),
    () => renameSync('dir-away', 'dir'),
    () => renameSync('dir/file', 'kept'), () => renameSync('to-file', 'dir/file'), () => renameSync('dir/file', 'to-file'),
    () => renameSync('kept', 'dir/file'),
    () => renameSync('dir', 'spare/inner/dir'), () => renameSync('spare/inner/dir', 'dir'),
    () => { unlinkSync('to-dir'); symlinkSync(outside, 'to-dir') }, () => { unlinkSync('to-dir'); symlinkSync('dir', 'to-dir') },
    () => { unlinkSync('to-dir'); symlinkSync('../outside', 'to-dir') },
    () => { rmSync('dir/sub', { recursive: true, force: true }); symlinkSync('../../outside', 'dir/sub') },
    () => { unlinkSync('dir/sub'); mkdirSync('dir/sub') },
  )
}
`

const refused = [
  'not_found',
  'path_outside_scope',
  'not_a_file',
  'not_a_directory',
  'file_access_denied',
  'already_exists',
]

const quietly = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (error instanceof FileError && refused.includes(error.code)) return undefined
    throw error
  }
}

const secretsOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${join(entry.parentPath, entry.name)} ${readFileSync(join(entry.parentPath, entry.name), 'utf8')}`)
    .sort()

describe('while another process swaps directories and links as fast as it can', () => {
  const paths = ['dir/file', 'to-dir/file', 'dir/sub/file', 'dir/../dir/file', 'spare/inner/dir/file', 'to-dir/../file']

  it('nothing outside is read or listed', async () => {
    await beside(swapper, cwd, join(base, 'outside'))
    let read = 0
    for (let round = 0; round < 400; round += 1) {
      const found = await Promise.all([
        ...paths.map((path) => quietly(files.read(path, { offset: 0, limit: 100, encoding: 'auto' }))),
      ])
      for (const piece of found) {
        if (!piece) continue
        read += 1
        expect(piece.content).toEqual({ text: expect.stringMatching(/^(inside)?$/) })
      }
      const page = await quietly(files.list('dir', { limit: 100 }))
      const names = page?.entries.map(({ name }) => textOf(name)) ?? []
      // Of the directories, only that outside has a file beside a directory "dir".
      expect(names).not.toContain('dir')
    }
    expect(read).toBeGreaterThan(100)
  })

  it('nothing outside is written, made or removed', async () => {
    const before = secretsOf(join(base, 'outside'))
    await beside(swapper, cwd, join(base, 'outside'))
    let written = 0
    for (let round = 0; round < 150; round += 1) {
      const found = await Promise.all(
        [...paths, 'dir/sub/new/deep/file', 'to-dir/made'].map((path) =>
          quietly(files.write(path, Buffer.from('inside'), { limit: 100, parents: round % 2 === 0 })),
        ),
      )
      written += found.filter((one) => one !== undefined).length
    }
    expect(written).toBeGreaterThan(50)
    expect(secretsOf(join(base, 'outside'))).toEqual(before)
    expect(readdirSync(base).sort()).toEqual(['file', 'outside', 'work'])
    expect(readFileSync(join(base, 'file'), 'utf8')).toBe('SECRET')
  })
})

describe('a process that is killed while it writes', () => {
  const writer = `
import { ConfinedFiles } from ${JSON.stringify(built)}
const [cwd] = process.argv.slice(1)
const files = new ConfinedFiles({ cwd, roots: [{ at: cwd, real: cwd, mode: 'write' }], frozen: [], hidden: [] })
process.stdout.write('ready\\n')
for (let round = 0; ; round += 1) await files.write('big', Buffer.alloc(1024 * 1024, 97 + (round % 26)), { limit: 2 ** 20 })
`

  it('leaves the old file or the new one, whole, and nothing else but a draft', async () => {
    await files.write('big', Buffer.alloc(1024 * 1024, 0x2e), { limit: 2 ** 20 })
    const states = new Set<string>()
    const draftsNow = () => readdirSync(cwd).filter((name) => /^\.big\.[0-9a-f]{16}\.svc-tmp$/.test(name))
    let drafts: readonly string[] = []
    for (let round = 0; round < 25 || (drafts.length === 0 && round < 200); round += 1) {
      const child = await beside(writer, cwd)
      const gone = once(child, 'exit')
      // In a write that is not the first one, every second time while its draft is seen, else anywhere.
      const { ino } = statSync(join(cwd, 'big'))
      const isThere = (): boolean =>
        round % 2 ? statSync(join(cwd, 'big')).ino !== ino : draftsNow().some((name) => !drafts.includes(name))
      for (let looks = 0; !isThere() && looks < 1_000_000; looks += 1);
      child.kill('SIGKILL')
      await gone
      const bytes = readFileSync(join(cwd, 'big'))
      expect(bytes.length).toBe(1024 * 1024)
      expect(bytes.equals(Buffer.alloc(bytes.length, bytes[0]))).toBe(true)
      states.add(String.fromCharCode(bytes[0] as number))
      drafts = draftsNow()
    }
    expect(readdirSync(cwd)).toHaveLength(2 + drafts.length)
    expect(states.size).toBeGreaterThan(1)
    // Some of them were killed between the beginning of a write and its end.
    expect(drafts.length).toBeGreaterThan(0)
  })

  it('does the same while others read: they never see a half', async () => {
    await files.write('big', Buffer.alloc(1024 * 1024, 0x2e), { limit: 2 ** 20 })
    await beside(writer, cwd)
    for (let round = 0; round < 60; round += 1) {
      const bytes = readFileSync(join(cwd, 'big'))
      expect(bytes.length).toBe(1024 * 1024)
      expect(bytes.equals(Buffer.alloc(bytes.length, bytes[0]))).toBe(true)
    }
  })
})

describe('what another process holds open', () => {
  it('keeps its bytes when the file is replaced, and a hard link outside is never written through', async () => {
    linkSync(join(base, 'outside/file'), join(cwd, 'linked'))
    const held = openSync(join(cwd, 'linked'), 'r')
    await files.write('linked', Buffer.from('mine'), { limit: 100 })
    expect(readFileSync(held, 'utf8')).toBe('SECRET')
    closeSync(held)
    expect(readFileSync(join(base, 'outside/file'), 'utf8')).toBe('SECRET')
    expect(readFileSync(join(cwd, 'linked'), 'utf8')).toBe('mine')
    symlinkSync('linked', join(cwd, 'link'))
    expect(existsSync(join(cwd, 'link'))).toBe(true)
  })
})
