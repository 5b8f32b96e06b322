import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ConfinedFiles } from './confined.files.js'
import type { ReadRequest } from './file.read.js'
import { type FileView, machineView } from './file.view.js'

let base: string
let cwd: string
let files: ConfinedFiles

const viewOf = (more: Partial<FileView> = {}): FileView => ({
  cwd,
  roots: [{ at: cwd, real: cwd, mode: 'write' }],
  frozen: [],
  hidden: [],
  ...more,
})
const whole: ReadRequest = { offset: 0, limit: 65_536, encoding: 'auto' }
const textIn = async (path: string | Buffer, by = files): Promise<string> => {
  const { content } = await by.read(path, whole)
  return 'text' in content ? content.text : `bytes ${content.bytes.toString('hex')}`
}
const write = (path: string | Buffer, text: string, by = files) => by.write(path, Buffer.from(text), { limit: 1000 })
const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (found) => `answered ${JSON.stringify(found)}`,
    (error: unknown) => (error as { code: string }).code ?? String(error),
  )

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-confined-'))
  cwd = join(base, 'work')
  mkdirSync(cwd)
  writeFileSync(join(base, 'secret'), 'key')
  files = new ConfinedFiles(viewOf())
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

describe('a path', () => {
  it('counts from the working directory, and means what it means to the system', async () => {
    mkdirSync(join(cwd, 'a/b'), { recursive: true })
    writeFileSync(join(cwd, 'a/file'), 'one')
    symlinkSync('a/b', join(cwd, 'deep'))
    for (const path of ['a/file', './a//./file', `${cwd}/a/b/../file`, 'deep/../file', `${cwd}/a/../../work/a/file`]) {
      expect(await textIn(path)).toBe('one')
      expect(await files.existing(path)).toBe(join(cwd, 'a/file'))
    }
    expect(await code(textIn('a/file/'))).toBe('not_a_directory')
    expect(await code(textIn('a/file/..'))).toBe('not_a_directory')
    expect(await code(textIn('absent/../a/file'))).toBe('not_found')
  })

  it('leads nowhere outside, whether something is there or not', async () => {
    symlinkSync(join(base, 'secret'), join(cwd, 'link'))
    symlinkSync('..', join(cwd, 'up'))
    symlinkSync('/proc/self/root/etc/passwd', join(cwd, 'magic'))
    const paths = [
      '../secret',
      'a/../../secret',
      join(base, 'secret'),
      'link',
      'up/secret',
      'magic',
      '/etc/passwd',
      '/',
    ]
    for (const path of [...paths, '../absent', 'up/absent', '/absent', 'up', '..', '/proc/self/fd/1', '/dev/fd/0']) {
      expect([path, await code(textIn(path))]).toEqual([path, 'path_outside_scope'])
      expect([path, await code(files.list(path, { limit: 5 }))]).toEqual([path, 'path_outside_scope'])
      expect([path, await code(write(path, 'x'))]).toEqual([path, 'path_outside_scope'])
    }
    expect(readFileSync(join(base, 'secret'), 'utf8')).toBe('key')
    expect(readdirSync(base).sort()).toEqual(['secret', 'work'])
  })

  it('may have names that are no UTF-8, and of 255 bytes', async () => {
    const strange = Buffer.concat([Buffer.from(`${cwd}/`), Buffer.from([0xff, 0xfe, 0x20, 0xe4])])
    await write(strange, 'strange')
    expect(await textIn(strange)).toBe('strange')
    const { entries } = await files.list('.', { limit: 5 })
    expect(entries.map(({ name }) => Buffer.from(name, 'latin1'))).toEqual([strange.subarray(cwd.length + 1)])
    await write('n'.repeat(255), 'long')
    expect(await textIn('n'.repeat(255))).toBe('long')
    await write('ä'.repeat(127), 'umlauts')
    expect(await textIn('ä'.repeat(127))).toBe('umlauts')
  })

  it('is refused in words when it is none', async () => {
    for (const path of ['n'.repeat(256), 'ä'.repeat(128), 'a\0b', `${'d/'.repeat(3000)}x`, `${cwd}/\0`]) {
      expect(await code(textIn(path))).toBe('path_invalid')
      expect(await code(write(path, 'x'))).toBe('path_invalid')
    }
    let deep = cwd
    for (let level = 0; level < 300; level += 1) deep += '/d'
    mkdirSync(deep, { recursive: true })
    expect(await code(textIn(`${deep}/x`))).toBe('path_invalid')
  })

  it('goes through forty links, and not in a circle', async () => {
    writeFileSync(join(cwd, 'l0'), 'end')
    for (let at = 1; at <= 41; at += 1) symlinkSync(`l${at - 1}`, join(cwd, `l${at}`))
    expect(await textIn('l40')).toBe('end')
    expect(await code(textIn('l41'))).toBe('not_found')
    symlinkSync('round', join(cwd, 'round'))
    expect(await code(textIn('round'))).toBe('not_found')
    expect(await code(write('round', 'x'))).toBe('not_found')
  })
})

describe('what is no file', () => {
  it('is neither read nor written nor waited for', async () => {
    execFileSync('mkfifo', [join(cwd, 'pipe')])
    const server = createServer().listen(join(cwd, 'socket'))
    await new Promise((resolve) => server.once('listening', resolve))
    for (const path of ['pipe', 'socket', '.']) {
      expect(await code(textIn(path))).toBe('not_a_file')
      expect(await code(write(path, 'x'))).toBe('not_a_file')
    }
    server.close()
    expect(await code(write('new/', 'x'))).toBe('not_a_file')
    expect(await code(files.list('pipe', { limit: 1 }))).toBe('not_a_directory')
    const machine = new ConfinedFiles(machineView)
    expect(await code(textIn('/dev/zero', machine))).toBe('not_a_file')
    expect(await code(write('/dev/null', 'x', machine))).toBe('not_a_file')
  })

  it('is not looked for among what the kernel shows', async () => {
    const machine = new ConfinedFiles(machineView)
    symlinkSync('/proc/self/environ', join(cwd, 'environ'))
    for (const path of ['/proc/self/environ', '/proc/1/root/etc/passwd', '/sys/kernel/notes', join(cwd, 'environ')])
      expect([path, await code(textIn(path, machine))]).toEqual([path, 'file_access_denied'])
    expect(await textIn('/etc/hostname', machine)).toBe(readFileSync('/etc/hostname', 'utf8'))
    expect(await code(files.list('/proc', { limit: 1 }))).toBe('path_outside_scope')
  })
})

describe('a view', () => {
  it('shows a root where its programs see it, and answers in its words', async () => {
    const own = join(base, 'own')
    mkdirSync(own)
    const seen = new ConfinedFiles(
      viewOf({
        roots: [
          { at: '/tmp', real: own, mode: 'write' },
          { at: cwd, real: cwd, mode: 'write' },
        ],
      }),
    )
    const { path } = await write('/tmp/note', 'here', seen)
    expect(path).toBe('/tmp/note')
    expect(readFileSync(join(own, 'note'), 'utf8')).toBe('here')
    symlinkSync('/tmp/note', join(cwd, 'to-note'))
    expect(await textIn('to-note', seen)).toBe('here')
    expect(await seen.existing('to-note')).toBe('/tmp/note')
    // The working directory lies in the machine's /tmp: it is seen there as well, though the node's own has no such name.
    await write(join(cwd, 'a'), 'mine', seen)
    expect(await textIn(`/tmp/../tmp/${cwd.slice('/tmp/'.length)}/a`, seen)).toBe('mine')
    expect(await code(textIn(join(base, 'secret'), seen))).toBe('path_outside_scope')
    expect(await code(seen.list(base, { limit: 5 }))).toBe('path_outside_scope')
  })

  it('lets what is mounted for reading be read alone, unless something deeper is mounted for writing', async () => {
    mkdirSync(join(cwd, 'in/out'), { recursive: true })
    writeFileSync(join(cwd, 'in/a'), 'one')
    const seen = new ConfinedFiles(
      viewOf({
        roots: [
          { at: join(cwd, 'in/out'), real: join(cwd, 'in/out'), mode: 'write' },
          { at: cwd, real: cwd, mode: 'read' },
        ],
      }),
    )
    expect(await textIn('in/a', seen)).toBe('one')
    expect(await code(write('in/a', 'two', seen))).toBe('path_outside_scope')
    expect(await code(seen.write('in/x/y', Buffer.from('x'), { parents: true, limit: 9 }))).toBe('path_outside_scope')
    await write('in/out/b', 'made', seen)
    expect(readdirSync(join(cwd, 'in'))).toEqual(['a', 'out'])
  })

  it('keeps what is frozen as it is, by any name', async () => {
    mkdirSync(join(cwd, '.git/hooks'), { recursive: true })
    writeFileSync(join(cwd, '.git/config'), 'old')
    symlinkSync('.git', join(cwd, 'git'))
    linkSync(join(cwd, '.git/config'), join(cwd, 'config'))
    const frozen = ['.git/hooks', '.git/config', '.git/info', 'absent'].map((name) => join(cwd, name))
    const seen = new ConfinedFiles(viewOf({ frozen }))
    expect(await textIn('.git/config', seen)).toBe('old')
    for (const path of [
      '.git/config',
      'git/config',
      'config',
      '.git/hooks/pre-commit',
      'git/hooks/x',
      '.git/info',
      'absent',
    ])
      expect([path, await code(write(path, 'x', seen))]).toEqual([path, 'path_outside_scope'])
    for (const path of ['.git/info/exclude', '.git/hooks/a/b', 'absent/b'])
      expect(await code(seen.write(path, Buffer.from('x'), { parents: true, limit: 9 }))).toBe('path_outside_scope')
    await write('.git/HEAD', 'ref', seen)
    expect(readdirSync(join(cwd, '.git')).sort()).toEqual(['HEAD', 'config', 'hooks'])
  })

  it('hides what is hidden, also after it was renamed, but for a root inside of it', async () => {
    mkdirSync(join(cwd, 'data/own'), { recursive: true })
    writeFileSync(join(cwd, 'data/token'), 'secret')
    const own = join(cwd, 'data/own')
    const seen = new ConfinedFiles(
      viewOf({
        hidden: [join(cwd, 'data')],
        roots: [
          { at: cwd, real: cwd, mode: 'write' },
          { at: own, real: own, mode: 'write' },
        ],
      }),
    )
    await write('data/own/a', 'mine', seen)
    expect(await textIn('data/own/a', seen)).toBe('mine')
    expect(await seen.existing('data/own/../own/./a')).toBe(join(own, 'a'))
    for (const path of ['data/token', 'data', 'data/absent', 'data/own/../token'])
      expect([path, await code(textIn(path, seen))]).toEqual([path, 'path_outside_scope'])
    expect(await code(seen.list('data', { limit: 5 }))).toBe('path_outside_scope')
    renameSync(join(cwd, 'data'), join(cwd, 'other'))
    expect(await code(textIn('other/token', seen))).toBe('path_outside_scope')
  })

  it('follows no link that has taken the place of a root', async () => {
    const moved = join(base, 'moved')
    renameSync(cwd, moved)
    symlinkSync(base, cwd)
    expect(await code(textIn('secret'))).toBe('path_outside_scope')
    expect(await code(write('secret', 'x'))).toBe('path_outside_scope')
  })

  it('follows the links that lead to its roots, and no other outside of them', async () => {
    symlinkSync(cwd, join(base, 'name'))
    symlinkSync('secret', join(base, 'other'))
    writeFileSync(join(cwd, 'a'), 'one')
    const seen = new ConfinedFiles(viewOf({ cwd: join(base, 'name'), links: [join(base, 'name'), '/etc'] }))
    expect(await textIn('a', seen)).toBe('one')
    expect(await seen.existing(join(base, 'name/a'))).toBe(join(cwd, 'a'))
    expect(await code(textIn('../other', seen))).toBe('path_outside_scope')
    expect(await code(textIn('/etc/passwd', seen))).toBe('path_outside_scope')
  })
})

describe('permissions', () => {
  it('stay with a file that is replaced, but for the set-ID bits', async () => {
    await write('a', 'one')
    chmodSync(join(cwd, 'a'), 0o4751)
    expect((await write('a', 'two')).created).toBe(false)
    expect(statSync(join(cwd, 'a')).mode & 0o7777).toBe(0o751)
  })

  it('leave another name of the same file with its old bytes', async () => {
    await write('a', 'one')
    linkSync(join(cwd, 'a'), join(base, 'outside'))
    await write('a', 'two')
    expect(readFileSync(join(base, 'outside'), 'utf8')).toBe('one')
  })
})
