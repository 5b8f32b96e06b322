import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { describeWhere } from '#common/testing/describe-with-engine.js'
import { SmallDisk } from '../../../../test/support/small-disk.js'
import { ConfinedFiles, type WriteLimit } from './confined.files.js'
import { draftNameOf, draftsLiveFor } from './file.draft.js'
import type { WriteOptions } from './file.write.js'

const limit = 1024 * 1024
let cwd: string
let files: ConfinedFiles

const write = (path: string, bytes: string | Buffer, options: Partial<WriteOptions & WriteLimit> = {}) =>
  files.write(path, Buffer.from(bytes), { limit, ...options })
const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code ?? String(error),
  )
const text = (name: string): string => readFileSync(join(cwd, name), 'utf8')

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'svc-write-'))
  files = new ConfinedFiles({ cwd, roots: [{ at: cwd, real: cwd, mode: 'write' }], frozen: [], hidden: [] })
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

describe('a write', () => {
  it('takes as many bytes as the limit says, and with one more touches nothing', async () => {
    const { size, created } = await write('a', Buffer.alloc(limit, 1))
    expect([size, created]).toEqual([limit, true])
    const before = statSync(join(cwd, 'a'), { bigint: true })
    expect(await code(write('a', Buffer.alloc(limit + 1, 2)))).toBe('file_too_large')
    expect(await code(write('new/b', Buffer.alloc(limit + 1), { parents: true }))).toBe('file_too_large')
    expect(statSync(join(cwd, 'a'), { bigint: true })).toEqual(before)
    expect(readdirSync(cwd)).toEqual(['a'])
  })

  it('makes directories on the way only when it is asked to', async () => {
    expect(await code(write('new/deep/a', 'one'))).toBe('not_found')
    expect(readdirSync(cwd)).toEqual([])
    const { path } = await write('new/./deep//a', 'one', { parents: true })
    expect([path, text('new/deep/a')]).toEqual([join(cwd, 'new/deep/a'), 'one'])
    expect(await code(write('new/deep/a/b', 'two', { parents: true }))).toBe('not_a_directory')
  })

  it('replaces what a link leads to and keeps the link, also when nothing is there yet', async () => {
    mkdirSync(join(cwd, 'sub'))
    symlinkSync('sub/real', join(cwd, 'link'))
    expect(await write('link', 'one')).toMatchObject({ path: join(cwd, 'sub/real'), created: true })
    expect(await write('link', 'two')).toMatchObject({ path: join(cwd, 'sub/real'), created: false })
    expect(text('sub/real')).toBe('two')
  })

  it('shows what is there right before it is replaced, and leaves it when that may not be', async () => {
    await write('a', 'one')
    const seen: unknown[] = []
    await write('a', 'two', { check: (before, path) => seen.push([before?.size, path]) })
    expect(seen).toEqual([
      [3, join(cwd, 'a')],
      [3, join(cwd, 'a')],
    ])
    const refuse = (): void => {
      throw new Error('not this one')
    }
    await expect(write('a', 'three', { check: refuse })).rejects.toThrow('not this one')
    expect([text('a'), readdirSync(cwd)]).toEqual(['two', ['a']])
  })
})

describe('if_match', () => {
  it('lets a write through in the state that the etag names, and in no other', async () => {
    const { etag } = await write('a', 'one')
    expect((await files.read('a', { offset: 0, limit: 9, encoding: 'auto' })).etag).toBe(etag)
    const next = await write('a', 'two', { ifMatch: etag })
    expect(next.etag).not.toBe(etag)
    expect(await code(write('a', 'three', { ifMatch: etag }))).toBe('precondition_failed')
    expect(text('a')).toBe('two')
    // Neither the size nor the time of the last change of its bytes tells these two apart.
    const { atime, mtime } = statSync(join(cwd, 'a'))
    writeFileSync(join(cwd, 'a'), 'TWO')
    utimesSync(join(cwd, 'a'), atime, mtime)
    expect(await code(write('a', 'three', { ifMatch: next.etag }))).toBe('precondition_failed')
  })

  it('asks by a star only that there is a file', async () => {
    expect(await code(write('a', 'one', { ifMatch: '*' }))).toBe('precondition_failed')
    expect(await code(write('new/a', 'one', { ifMatch: '*', parents: true }))).toBe('not_found')
    await write('a', 'one')
    await write('a', 'two', { ifMatch: '*' })
    expect([text('a'), readdirSync(cwd)]).toEqual(['two', ['a']])
  })

  it('lets one of many writes through that all name the same state', async () => {
    const { etag } = await write('a', 'old')
    const codes = await Promise.all(
      Array.from({ length: 16 }, (_, at) => code(write('a', `new ${at}`, { ifMatch: etag }))),
    )
    expect(codes.filter((one) => one === 'done')).toHaveLength(1)
    expect(codes.filter((one) => one === 'precondition_failed')).toHaveLength(15)
  })
})

describe('create_only', () => {
  it('writes where nothing is, once, whoever else tries', async () => {
    const other = new ConfinedFiles(files.view)
    const codes = await Promise.all(
      [files, other].flatMap((one) =>
        Array.from({ length: 8 }, () => code(one.write('a', Buffer.from('x'), { limit, createOnly: true }))),
      ),
    )
    expect(codes.filter((one) => one === 'done')).toHaveLength(1)
    expect(codes.filter((one) => one === 'already_exists')).toHaveLength(15)
    expect(readdirSync(cwd)).toEqual(['a'])
  })
})

const disk = SmallDisk.mount(1)

describeWhere(disk !== undefined, 'a mount of one’s own', 'a full disk', () => {
  afterAll(() => disk?.unmount())

  it('leaves the file as it was, and no draft', async () => {
    const { path } = disk as SmallDisk
    const small = new ConfinedFiles({
      cwd: path,
      roots: [{ at: path, real: path, mode: 'write' }],
      frozen: [],
      hidden: [],
    })
    await small.write('a', Buffer.from('old'), { limit })
    expect(await code(small.write('a', Buffer.alloc(limit, 1), { limit }))).toBe('storage_full')
    expect([readFileSync(join(path, 'a'), 'utf8'), readdirSync(path)]).toEqual(['old', ['a']])
  })
})

describe('drafts that were left by a process that died', () => {
  const left = (name: string, age: number): string => {
    const draft = draftNameOf(name)
    writeFileSync(join(cwd, draft), 'half')
    const { mtimeMs } = statSync(cwd)
    utimesSync(join(cwd, draft), (mtimeMs - age) / 1000, (mtimeMs - age) / 1000)
    return draft
  }

  it('go at the next write in their directory when they are old, and never when they may be in use', async () => {
    const old = left('a', draftsLiveFor * 2)
    const young = left('a', draftsLiveFor / 2)
    mkdirSync(join(cwd, draftNameOf('directory')))
    writeFileSync(join(cwd, '.mine.svc-tmp'), 'not a draft')
    await write('b', 'one')
    expect(existsSync(join(cwd, old))).toBe(false)
    expect(existsSync(join(cwd, young))).toBe(true)
    expect(readdirSync(cwd)).toHaveLength(4)
  })

  it('have names of at most 255 bytes, whatever they are drafts of', () => {
    expect(draftNameOf('ÿ'.repeat(255)).length).toBeLessThan(255)
  })
})
