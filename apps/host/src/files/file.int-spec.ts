import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { contract, type InputOf } from '#common/contract/index.js'
import { type Actor, systemContext } from '#common/kernel/context.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { natsUrlAs } from '#common/testing/nats.js'
import { NatsProcess } from '#common/testing/nats-process.js'
import { waitFor } from '#common/testing/wait-for.js'

type Operations = typeof contract

const hostProgram = new URL('../../../../dist/apps/host/src/main.js', import.meta.url).pathname
const nodeId = newId('node')

let nats: NatsProcess
let gateway: TestPeer
let lifecycle: TestPeer
let host: ChildProcess
const dataDir = mkdtempSync(join(tmpdir(), 'svc-files-data-'))
const base = mkdtempSync('/var/tmp/svc-files-')
const cwd = join(base, 'work')
const at = (name: string): string => join(cwd, name)

beforeAll(async () => {
  // As the daemon's own: one message carries what a route takes.
  nats = await NatsProcess.start('max_payload: 8388608')
  gateway = await joinBus(nats.url, 'gateway')
  let heard = false
  lifecycle = await joinBus(nats.url, 'lifecycle', {
    operations: [contract['lifecycle.host.hello']],
    handlers: {
      'lifecycle.host.hello': async () => {
        heard = true
        return { accepted: true }
      },
    },
  })
  host = spawn(process.execPath, [hostProgram], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NATS_URL: natsUrlAs(nats.url, 'host'),
      SVC_DATA_DIR: dataDir,
      SVC_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  await waitFor(() => heard, { what: 'the first hello' })
})

afterAll(async () => {
  const gone = once(host, 'exit')
  host.kill('SIGTERM')
  await gone
  await Promise.all([gateway.close(), lifecycle.close()])
  await nats.stop()
  for (const path of [dataDir, base]) rmSync(path, { recursive: true, force: true })
})

beforeEach(() => {
  mkdirSync(cwd, { recursive: true })
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

const owner: Actor = { ...systemContext('gateway').actor, kind: 'owner', principal: 'owner' }
const node = (scopes: string[] = []): Actor => ({
  kind: 'node',
  principal: `node:${nodeId}`,
  tokenId: 't',
  scopes: ['svc:llm', 'svc:act', ...scopes],
  nodeId,
  generation: 1,
  place: { cwd, host_id: 'local', git_dir: null },
})
const app = (scopes: string[]): Actor => ({
  kind: 'app',
  principal: 'app:notes',
  tokenId: 't',
  appId: 'notes',
  scopes: ['svc:llm', 'svc:act', ...scopes],
})

const contextOf = (actor: Actor) => ({ ...systemContext('gateway'), actor })
const target = { target: 'local' }
/** As the gateway hands it on: with the contract's defaults, or refused. */
const parsed = <T>(schema: { safeParse(input: unknown): { success: boolean; data?: T } }, input: unknown): T => {
  const { success, data } = schema.safeParse(input)
  if (!success) throw new SvcError('validation_failed')
  return data as T
}
const read = async (path: string, more: Partial<InputOf<Operations['files.read']>> = {}, by = owner) => {
  const entry = contract['files.read']
  return gateway.bus.call(entry, contextOf(by), parsed(entry.query, { path, ...more }), target)
}
const write = async (path: string, more: Omit<InputOf<Operations['files.write']>, 'path'>, by = owner) => {
  const entry = contract['files.write']
  return gateway.bus.call(entry, contextOf(by), parsed(entry.body, { path, ...more }), target)
}
const list = async (path: string, more: Partial<InputOf<Operations['files.list']>> = {}, by = owner) => {
  const entry = contract['files.list']
  return gateway.bus.call(entry, contextOf(by), parsed(entry.query, { path, ...more }), target)
}

const refusal = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    (answer) => new Error(`it was answered: ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  )
  if (isSvcError(error)) return error.code
  throw error
}

describe('files.read', () => {
  it('answers a piece of a file, its state, and where the next piece begins', async () => {
    writeFileSync(at('a'), 'one two three')
    const first = await read(at('a'), { limit: 4 })
    expect(first).toEqual({
      path: at('a'),
      encoding: 'utf8',
      content: 'one ',
      size: 13,
      offset: 0,
      next_offset: 4,
      truncated: true,
      // Cut to whole milliseconds, where Node's own date is rounded.
      mtime: new Date(Math.floor(statSync(at('a')).mtimeMs)).toISOString(),
      etag: expect.stringMatching(/^[0-9a-z-]+$/),
    })
    expect(await read(at('a'), { offset: 4 })).toMatchObject({
      content: 'two three',
      next_offset: null,
      truncated: false,
      etag: first.etag,
    })
  })

  it('answers at most 256 KiB, text whole characters at a time, other bytes in base64', async () => {
    writeFileSync(at('long'), `a${'ü'.repeat(200_000)}`)
    const { content, next_offset, truncated } = await read(at('long'))
    expect([Buffer.byteLength(content as string), next_offset, truncated]).toEqual([262_143, 262_143, true])
    const bytes = Buffer.alloc(300_000, 0xff)
    writeFileSync(at('binary'), bytes)
    const binary = await read(at('binary'))
    expect([binary.encoding, binary.content, binary.next_offset]).toEqual(['base64', undefined, 262_144])
    expect(Buffer.from(binary.base64 as string, 'base64')).toEqual(bytes.subarray(0, 262_144))
    expect(await read(at('long'), { encoding: 'base64', limit: 4 })).toMatchObject({ base64: 'YcO8ww==' })
    expect(await refusal(read(at('long'), { limit: 262_145 }))).toBe('validation_failed')
  })

  it('says what can not be read, and why', async () => {
    mkdirSync(at('sub'))
    expect(await refusal(read(at('absent')))).toBe('not_found')
    expect(await refusal(read(at('sub')))).toBe('not_a_file')
    expect(await refusal(read('/dev/zero'))).toBe('not_a_file')
    expect(await refusal(read('/proc/self/environ'))).toBe('file_access_denied')
    expect(await refusal(read('relative'))).toBe('validation_failed')
    expect(await refusal(read(`/${'n'.repeat(300)}`))).toBe('validation_failed')
    await expect(read(at('absent'))).rejects.toMatchObject({ fields: { path: at('absent') } })
  })
})

describe('files.write', () => {
  it('takes 1 MiB, and with one byte more leaves the file as it was', async () => {
    const mebibyte = Buffer.alloc(1024 * 1024, 0xab)
    const written = await write(at('a'), { base64: mebibyte.toString('base64') })
    expect(written).toMatchObject({ path: at('a'), size: 1024 * 1024, created: true })
    expect(readFileSync(at('a')).equals(mebibyte)).toBe(true)
    const more = Buffer.alloc(1024 * 1024 + 1)
    expect(await refusal(write(at('a'), { base64: more.toString('base64') }))).toBe('file_too_large')
    expect(await refusal(write(at('a'), { content: '\u0001'.repeat(1024 * 1024 + 1) }))).toBe('file_too_large')
    expect(readFileSync(at('a')).equals(mebibyte)).toBe(true)
    expect(readdirSync(cwd)).toEqual(['a'])
    expect(await write(at('b'), { content: '\u0001'.repeat(1024 * 1024) })).toMatchObject({ size: 1024 * 1024 })
  })

  it('wants either text or bytes, and bytes that are base64', async () => {
    expect(await refusal(write(at('a'), {}))).toBe('validation_failed')
    expect(await refusal(write(at('a'), { content: 'a', base64: 'YQ==' }))).toBe('validation_failed')
    for (const base64 of ['YQ', 'YQ=', 'Y Q==', 'YQ==YQ==', '-_==', 'YR==', 'ä'])
      expect([base64, await refusal(write(at('a'), { base64 }))]).toEqual([base64, 'validation_failed'])
    expect(readdirSync(cwd)).toEqual([])
    expect((await write(at('a'), { base64: '' })).size).toBe(0)
    expect((await write(at('a'), { content: '' })).created).toBe(false)
  })

  it('keeps permissions, and goes by if_match, create_only and parents', async () => {
    const { etag } = await write(at('a'), { content: 'one' })
    chmodSync(at('a'), 0o755)
    expect(await refusal(write(at('a'), { content: 'two', if_match: etag }))).toBe('precondition_failed')
    const now = (await read(at('a'))).etag
    await write(at('a'), { content: 'two', if_match: now })
    expect([readFileSync(at('a'), 'utf8'), statSync(at('a')).mode & 0o777]).toEqual(['two', 0o755])
    expect(await refusal(write(at('a'), { content: 'x', create_only: true }))).toBe('already_exists')
    expect(await refusal(write(at('a'), { content: 'x', create_only: true, if_match: '*' }))).toBe('validation_failed')
    expect(await refusal(write(at('new/b'), { content: 'x' }))).toBe('not_found')
    expect(await write(at('new/b'), { content: 'x', parents: true, create_only: true })).toMatchObject({
      created: true,
    })
  })
})

describe('files.list', () => {
  it('answers pages by the bytes of the names, each entry with what it is', async () => {
    for (const name of ['b', 'a', 'c']) writeFileSync(at(name), name, { mode: 0o640 })
    writeFileSync(Buffer.concat([Buffer.from(`${cwd}/`), Buffer.from([0xff])]), '')
    symlinkSync('a', at('link'))
    const first = await list(cwd, { limit: 2 })
    expect(first).toMatchObject({ path: cwd, truncated: true, has_more: true, next_cursor: expect.any(String) })
    expect(first.data[0]).toEqual({ name: 'a', type: 'file', size: 1, mode: '0640', mtime: expect.any(String) })
    const rest = await list(cwd, { after: first.next_cursor as string })
    expect(rest).toMatchObject({ truncated: false, has_more: false, next_cursor: null })
    expect(rest.data).toMatchObject([
      { name: 'c' },
      { name: 'link', type: 'symlink', target: 'a' },
      { name: '\ufffd', name_base64: '/w==' },
    ])
    for (const after of ['a/b', '!', 'YQ==', ''])
      expect([after, await refusal(list(cwd, { after }))]).toEqual([after, 'validation_failed'])
    expect(await refusal(list(at('a')))).toBe('not_a_directory')
  })
})

describe("a node's token", () => {
  it('reaches its working directory and its mounts, and nothing else of the machine', async () => {
    const mount = join(base, 'mount')
    mkdirSync(mount, { recursive: true })
    writeFileSync(join(mount, 'a'), 'mounted')
    writeFileSync(join(base, 'secret'), 'key')
    symlinkSync(join(base, 'secret'), at('link'))
    symlinkSync('/', at('root'))
    const by = node([`svc:files:read:user:${mount}`])
    await write(at('a'), { content: 'mine' }, by)
    expect(await read(at('a'), {}, by)).toMatchObject({ path: at('a'), content: 'mine' })
    expect(await read(join(mount, 'a'), {}, by)).toMatchObject({ content: 'mounted' })
    expect(await refusal(write(join(mount, 'a'), { content: 'x' }, by))).toBe('path_outside_scope')
    expect(await refusal(read(join(mount, 'a'), {}, node()))).toBe('path_outside_scope')
    const elsewhere = [join(base, 'secret'), join(base, 'absent'), at('link'), at('root/etc/passwd'), '/etc/passwd']
    for (const path of [...elsewhere, dataDir, '/proc/self/environ', '/', '/var/tmp']) {
      expect([path, await refusal(read(path, {}, by))]).toEqual([path, 'path_outside_scope'])
      expect([path, await refusal(write(path, { content: 'x', parents: true }, by))]).toEqual([
        path,
        'path_outside_scope',
      ])
      expect([path, await refusal(list(path, {}, by))]).toEqual([path, 'path_outside_scope'])
    }
    expect(readdirSync(base).sort()).toEqual(['mount', 'secret', 'work'])
  })

  it('finds the files where its commands find them', async () => {
    const by = node()
    const run = async (command: string): Promise<string> => {
      const body = { cwd, command, timeout: 20_000 }
      const { stdout, stderr } = await gateway.bus.call(contract['bash.run'], contextOf(by), body, target)
      return stdout + stderr
    }
    await run('echo temporary > /tmp/note; echo home > ~/note; ln -s /tmp/note link; echo $HOME')
    const home = (await run('echo $HOME')).trim()
    expect(await read('/tmp/note', {}, by)).toMatchObject({ path: '/tmp/note', content: 'temporary\n' })
    expect(await read(at('link'), {}, by)).toMatchObject({ path: '/tmp/note', content: 'temporary\n' })
    expect(await read(`${home}/note`, {}, by)).toMatchObject({ content: 'home\n' })
    await write('/tmp/reply', { content: 'seen\n' }, by)
    expect(await run('cat /tmp/reply')).toBe('seen\n')
    expect(await refusal(read('/tmp/note'))).toBe('not_found')
    expect(await refusal(read(join(homedir(), '.bashrc'), {}, by))).toBe('not_found')
  })

  it('changes nothing of what git runs for the person', async () => {
    mkdirSync(at('.git/hooks'), { recursive: true })
    mkdirSync(at('.git/objects'))
    mkdirSync(at('.git/refs'))
    writeFileSync(at('.git/HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(at('.git/config'), '[core]\n')
    symlinkSync('.git', at('git'))
    // Another working directory than before, as far as plans are concerned.
    const by = node(['svc:schedule'])
    for (const path of ['.git/config', 'git/config', '.git/hooks/pre-commit', 'git/hooks/post-checkout'])
      expect([path, await refusal(write(at(path), { content: 'x' }, by))]).toEqual([path, 'path_outside_scope'])
    expect(await read(at('.git/config'), {}, by)).toMatchObject({ content: '[core]\n' })
    await write(at('.git/description'), { content: 'x' }, by)
  })
})

describe("an application's token", () => {
  it('reaches what its scopes name', async () => {
    const [readable, writable] = [join(base, 'read'), join(base, 'write')]
    for (const path of [readable, writable]) mkdirSync(path, { recursive: true })
    writeFileSync(join(readable, 'a'), 'one')
    const by = app([`svc:files:read:user:${readable}`, `svc:files:rw:user:${writable}`])
    expect(await read(join(readable, 'a'), {}, by)).toMatchObject({ content: 'one' })
    await write(join(writable, 'b'), { content: 'two' }, by)
    expect(await refusal(write(join(readable, 'a'), { content: 'x' }, by))).toBe('path_outside_scope')
    for (const path of [cwd, base, '/etc/passwd', '/tmp', dataDir])
      expect([path, await refusal(list(path, {}, by))]).toEqual([path, 'path_outside_scope'])
    expect(await refusal(read(join(readable, 'a'), {}, app([])))).toBe('path_outside_scope')
    const all = app([`svc:files:rw:user:/`])
    expect(await refusal(list(dataDir, {}, all))).toBe('path_outside_scope')
    expect(await refusal(read(join(homedir(), '.ssh/id_rsa'), {}, all))).toBe('path_outside_scope')
    for (const path of [readable, writable]) rmSync(path, { recursive: true })
  })
})
