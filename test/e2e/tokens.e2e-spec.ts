import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { MintedToken, RegisteredObject, TokenSelf } from '#sdk/index.js'
import { type CommandEnd, svc as command } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { textOf } from '../support/daemon-processes.js'

let daemon: TestDaemon
/** Every token that was shown, to be searched for where none may be. */
const shown = new Set<string>()

const svc = async (...args: string[]): Promise<CommandEnd> => {
  const end = await command(daemon, args)
  for (const [token] of end.stdout.matchAll(/svc_(own|app)_\w+/g)) shown.add(token)
  return end
}

/** What a command prints with `--json`. */
const answer = async <T>(...args: string[]): Promise<T> => {
  const { code, stdout, stderr } = await svc(...args, '--json')
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as T
}

type Connected = MintedToken & { base_url: string; token: string }

/** A call with a token of an app, by the command that its programs use. */
const as = (token: string, baseUrl: string, ...args: string[]): Promise<CommandEnd> =>
  command(daemon, args, { env: { SVC_TOKEN: token, SVC_BASE_URL: baseUrl } })

const selfOf = async (token: string, baseUrl = daemon.baseUrl): Promise<TokenSelf> => {
  const { code, stdout, stderr } = await as(token, baseUrl, 'request', 'GET', '/v1/token')
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as TokenSelf
}

beforeAll(async () => {
  daemon = await TestDaemon.start({ env: { SVC_LOG_LEVEL: 'trace' } })
  const held = `svc:llm,svc:act,svc:memory:rw:app,svc:files:rw:user:${daemon.workDir}`
  const { code, stderr } = await svc('app', 'add', 'notes', '--scopes', held)
  if (code !== 0) throw new Error(stderr)
})
afterAll(() => daemon.stop())

describe('svc sys connect', () => {
  it("gives the owner's token, that of the file", async () => {
    const { stdout } = await svc('sys', 'connect')
    expect(stdout).toBe(`export SVC_BASE_URL=${daemon.baseUrl}\nexport SVC_TOKEN=${daemon.token}\n`)
  })

  it('gives an app a token for both listeners, with the scopes that were listed', async () => {
    const made = await answer<Connected>('sys', 'connect', '--app', 'notes', '--scopes', 'svc:llm,svc:memory:read:app')
    expect(made).toMatchObject({ base_url: daemon.appUrl, scopes: ['svc:llm', `svc:memory:read:app:${made.app_id}`] })
    for (const url of [daemon.baseUrl, daemon.appUrl]) {
      expect(await selfOf(made.token, url)).toMatchObject({ kind: 'app', app_id: made.app_id, scopes: made.scopes })
    }
    expect((await as(made.token, daemon.baseUrl, 'sys', 'tokens', 'list')).code).toBe(6)
  })

  it('without a list follows the grant, with an empty one permits nothing', async () => {
    const following = await answer<Connected>('sys', 'connect', '--app', 'notes')
    const empty = await answer<Connected>('sys', 'connect', '--app', 'notes', '--scopes', '')
    expect([following.scopes, empty.scopes]).toEqual([null, []])
    expect((await selfOf(following.token)).scopes).toContain('svc:act')
    expect((await selfOf(empty.token)).scopes).toEqual([])
  })

  it('refuses a list without an app, an old name, and what the grant does not hold', async () => {
    expect((await svc('sys', 'connect', '--scopes', 'svc:llm')).code).toBe(2)
    expect((await svc('sys', 'connect', '--app', 'notes', '--scopes', 'act')).code).toBe(2)
    const { code, stderr } = await svc('sys', 'connect', '--app', 'notes', '--scopes', 'svc:schedule,svc:llm')
    expect([code, stderr]).toEqual([6, expect.stringContaining('svc:schedule')])
    expect((await svc('sys', 'connect', '--app', 'nobody')).code).toBe(3)
  })
})

describe('svc sys tokens revoke', () => {
  it('ends the next call of the token and a stream that it has open', async () => {
    const { id, token } = await answer<Connected>('sys', 'connect', '--app', 'notes', '--label', 'phone')
    const client = daemon.client({ token })
    const node = await client.nodes.create({
      prompt: 'wait',
      cwd: daemon.workDir,
      engine: 'exec',
      exec: { argv: ['sh', '-c', 'until [ -e end ]; do sleep 0.02; done'] },
    })
    const stream = await fetch(`${daemon.baseUrl}/v1/nodes/${node.id}/events`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    })
    const whole = stream.text()

    expect((await svc('sys', 'tokens', 'revoke', id)).code).toBe(0)

    expect(await whole).toContain('"reason":"token_revoked"')
    expect((await as(token, daemon.baseUrl, 'node', 'show', node.id)).code).toBe(6)
    expect((await svc('sys', 'tokens', 'list', '--app', 'notes', '--status', 'revoked')).stdout).toContain(id)
    // a token is a key: what it started goes on
    expect((await daemon.client().nodes.retrieve(node.id)).status).toBe('active')
    await daemon.client().nodes.cancel(node.id)
  })
})

describe('svc sys tokens rotate', () => {
  it('puts another token in the place of an app’s', async () => {
    const { id, token } = await answer<Connected>('sys', 'connect', '--app', 'notes', '--scopes', 'svc:llm')
    const { stdout } = await svc('sys', 'tokens', 'rotate', id)
    expect(await selfOf(stdout.trim())).toMatchObject({ scopes: ['svc:llm'] })
    await expect(selfOf(token)).rejects.toThrow('revoked')
  })

  it("replaces the owner's own, which the commands of this machine find by themselves, also after a crash", async () => {
    const before = daemon.token
    const { token_id: id } = await selfOf(before)
    const { stdout } = await svc('sys', 'tokens', 'rotate', id ?? '')
    expect([daemon.token, daemon.token === before]).toEqual([stdout.trim(), false])
    await expect(selfOf(before)).rejects.toThrow('revoked')
    daemon.processes.kill('daemon')
    await daemon.startAgain()
    expect((await svc('sys', 'status')).code).toBe(0)
    await expect(selfOf(before)).rejects.toThrow('revoked')
  })
})

describe('no token that was shown', () => {
  it('is in any table or log, after repetitions and at the most talkative level', async () => {
    const post = <T>(body: object, path = '/v1/tokens', key = 'same') =>
      fetch(daemon.baseUrl + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${daemon.token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(body),
      }).then((response) => response.json() as Promise<T>)
    const first = await post<MintedToken>({ app: 'notes' })
    shown.add(first.token ?? '')
    expect(await post<MintedToken>({ app: 'notes' })).toEqual({ ...first, token: null })
    const hook = { type: 'url', url: 'http://127.0.0.1:9/hook', allow_private: true }
    const register = (name: string, more: object) =>
      post<RegisteredObject>({ name, ...more }, '/v1/custom-objects', `register ${name}`)
    const source = await register('leaky', { catalog: [{ event: 'built' }] })
    const watcher = { receiver: hook, watches: [{ source: 'leaky' }] }
    const made = await register('hooked', watcher)
    expect(await register('hooked', watcher)).toEqual({ ...made, publish_token: null, signing_secret: null })
    for (const { publish_token } of [source, made]) shown.add(publish_token ?? '')
    const publisher = daemon.client({ token: source.publish_token ?? '' })
    await publisher.customObjects.publish('leaky', { event: 'built', payload: {} })
    const signing = made.signing_secret ?? ''
    expect(signing).toMatch(/^whsec_/)
    await waitFor(async () => (await daemon.rows('SELECT 1 FROM objects.failures')).length > 0, { what: 'a try' })
    expect(shown.size).toBeGreaterThan(8)
    const tokens = [...shown].map((token) => token.split('_').at(-1) as string)
    expect(tokens.every((secret) => secret.length === 49)).toBe(true)
    const secrets = [...tokens, signing.slice('whsec_'.length)]

    const tables = await daemon.rows<{ name: string }>(
      "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables WHERE table_schema IN ('canvas', 'gateway', 'models', 'objects', 'scheduler')",
    )
    const texts = await Promise.all(
      tables.map(async ({ name }) => {
        const [row] = await daemon.rows<{ text: string }>(
          `SELECT coalesce(string_agg(t::text, ''), '') AS text FROM ${name} t`,
        )
        return [name, row?.text ?? ''] as const
      }),
    )
    const logs = readdirSync(daemon.data.log).map((file) => [file, textOf(join(daemon.data.log, file))] as const)
    expect([texts.length > 10, logs.length > 3]).toEqual([true, true])
    for (const [name, text] of [...texts, ...logs]) {
      const found = secrets.filter((secret) => text.includes(secret)).length
      expect({ name, found }).toEqual({ name, found: 0 })
    }
  })
})

describe('the last use of a token', () => {
  it('is written when the daemon stops, at the latest', async () => {
    const { id, token } = await answer<Connected>('sys', 'connect', '--app', 'notes')
    await selfOf(token)
    await svc('sys', 'down', '--nodes')
    await daemon.startAgain()
    await waitFor(async () => (await daemon.client().tokens.retrieve(id)).last_used_at !== null)
  })
})
