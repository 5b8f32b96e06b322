import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { App, Client, Node } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

const patience = { timeout: 60_000 }

let daemon: TestDaemon
let mock: MockModel
let owner: Client
let names = 0

beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  owner = daemon.client()
  await daemon.useModel(mock)
})
afterEach(() => mock.reset())
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

/** What a command prints that succeeds. */
const says = async (...args: string[]): Promise<string> => {
  const end = await svc(daemon, args)
  expect(end).toMatchObject({ code: 0 })
  return end.stdout
}

const files = (): string => `svc:files:rw:user:${daemon.workDir}`

/** An app that may work in the tests' directory, by the command, and a client with a token of its own. */
const register = async (...scopes: string[]) => {
  names += 1
  const name = `app-${names}`
  const app: App = JSON.parse(await says('app', 'add', name, '--scopes', ...scopes, files(), '--json'))
  const minted = await owner.tokens.create({ app: name })
  return { app, name, minted, client: daemon.client({ token: minted.token as string, maxRetries: 0 }) }
}

const code = (error: { code: string }): string => error.code
const refusal = (asked: Promise<unknown>): Promise<string> => asked.then(() => 'nothing', code)

const until = (id: string, look: (node: Node) => boolean, what: string): Promise<Node> =>
  waitFor(
    async () => {
      const node = await owner.nodes.retrieve(id)
      return look(node) ? node : null
    },
    { ...patience, what: `${id} ${what}` },
  )
const held = (id: string): Promise<Node> => until(id, ({ fault }) => fault?.held_for === 'grant', 'to be held')
const finished = (id: string) => owner.nodes.waitForOutcome(id, { timeout: 60_000 })

/** A program that asks the daemon something whenever it is told to, and keeps what it was answered. */
class Asking {
  #asked = 0

  private constructor(
    readonly node: Node,
    private readonly path: (name: string) => string,
  ) {}

  static async begin(client: Client): Promise<Asking> {
    names += 1
    const at = `asking-${names}`
    const path = (name: string): string => join(daemon.workDir, `${at}-${name}`)
    const body = JSON.stringify({ body: 'noted', tier: 'deferred' })
    const script = `n=1; while :; do until [ -e ${at}-$n ]; do [ -e ${at}-stop ] && exit 0; sleep 0.05; done
      svc request POST /v1/nodes/$SVC_NODE_ID/message '${body}' --json >${at}-said 2>&1; echo $? >>${at}-said
      mv ${at}-said ${at}-answer-$n; n=$((n+1)); done`
    const node = await client.nodes.create({
      prompt: 'go',
      cwd: daemon.workDir,
      engine: 'exec',
      lifecycle: 'terminal',
      exec: { argv: ['sh', '-c', script] },
    })
    return new Asking(node, path)
  }

  async ask(): Promise<string> {
    this.#asked += 1
    writeFileSync(this.path(String(this.#asked)), '')
    const answer = this.path(`answer-${this.#asked}`)
    await waitFor(() => existsSync(answer), { ...patience, what: 'the answer to the program' })
    return readFileSync(answer, 'utf8')
  }

  stop(): void {
    writeFileSync(this.path('stop'), '')
  }
}

describe('an app', () => {
  it('is registered, shown and listed by the command', async () => {
    const { app, name } = await register('svc:llm,svc:act')
    expect(await says('app', 'show', name)).toMatch(/^grant +svc:act svc:files:rw:\S+ svc:llm\nversion +1,/m)
    expect(await says('app', 'list')).toContain(app.id)
  })

  it('works in its own nodes, sees no others, and never leaves what it was granted', async () => {
    const [one, other] = [await register('svc:llm', 'svc:act'), await register('svc:llm', 'svc:act')]
    const program = { prompt: 'go', engine: 'exec' as const, exec: { argv: ['true'] } }
    const node = await one.client.nodes.create({ ...program, cwd: daemon.workDir })
    expect(node.app_id).toBe(one.app.id)
    expect((await one.client.nodes.list()).data.map(({ id }) => id)).toEqual([node.id])
    expect((await other.client.nodes.list()).data).toEqual([])
    expect(await refusal(other.client.nodes.retrieve(node.id))).toBe('not_found')
    expect(await refusal(other.client.nodes.message(node.id, { body: 'x' }))).toBe('not_found')
    expect(await refusal(one.client.nodes.create({ ...program, cwd: '/etc' }))).toBe('path_outside_scope')
    expect(await refusal(one.client.apps.retrieve(one.app.id))).toBe('owner_required')
  })
})

describe('a grant that is narrowed while a program runs', () => {
  it('refuses the next scoped action of it and of the app, by the name of the scope, and gives it back', async () => {
    const { name, client } = await register('svc:llm', 'svc:act')
    const asking = await Asking.begin(client)
    expect(await asking.ask()).toMatch(/^0$/m)

    await says('app', 'grant', name, '--drop', 'svc:act')

    const answer = await asking.ask()
    expect(answer).toContain('"scope_missing"')
    expect(answer).toContain('"svc:act"')
    expect(await refusal(client.nodes.message(asking.node.id, { body: 'x' }))).toBe('scope_missing')
    expect(await owner.nodes.retrieve(asking.node.id)).toMatchObject({ generation: 1, fault: null })

    await says('app', 'grant', name, '--add', 'svc:act')
    expect(await asking.ask()).toMatch(/^0$/m)
    asking.stop()
    expect(await finished(asking.node.id)).toMatchObject({ status: 'done' })
  })

  it('in its files takes the directory from what runs there: the process goes with its mounts', async () => {
    const { name, client, app } = await register('svc:llm', 'svc:act')
    const [project, other] = ['project', 'other'].map((each) => join(daemon.workDir, each)) as [string, string]
    for (const path of [project, other]) mkdirSync(path)
    const mounts = [project, other].map((path) => `svc:files:rw:user:${path}`)
    await says('app', 'grant', name, 'svc:llm', 'svc:act', ...mounts)
    mock.always({ toolCalls: [{ name: 'bash', input: { command: 'sleep 600' } }] })
    const node = await client.nodes.create({ prompt: 'sleep', cwd: project, lifecycle: 'terminal' })
    await until(node.id, ({ broker }) => broker !== null, 'to be hosted')
    await waitFor(async () => {
      const { data } = await owner.nodes.events(node.id).recorded()
      return data.some(({ type }) => type === 'tool.started')
    }, patience)
    mock.reset()
    mock.always({ text: 'It was cut off.' })

    await says('app', 'grant', name, '--drop', mounts[1] as string)

    expect(await finished(node.id)).toMatchObject({ status: 'done', error: null })
    const { data } = await owner.nodes.events(node.id).recorded()
    expect(data.find(({ type, data: { reason } }) => type === 'node.launching' && reason)?.data.reason).toContain(
      'narrowed',
    )
    expect((await owner.apps.retrieve(app.id)).grant.version).toBe(3)
  })
})

describe('a grant that is revoked', () => {
  it('ends the streams of the app and refuses its next call; what it is granted again works at once', async () => {
    const { name, client } = await register('svc:llm', 'svc:act')
    const asking = await Asking.begin(client)
    const watched = (async () => {
      for await (const _ of client.nodes.events(asking.node.id, {}, { maxRetries: 0 }));
    })()
    const cut = watched.then(() => 'ended quietly', code)
    expect(await asking.ask()).toMatch(/^0$/m)

    await says('app', 'revoke', name)

    expect(await cut).toBe('grant_revoked')
    expect(await refusal(client.nodes.list().page)).toBe('grant_revoked')
    // its mounts went with the grant, and the program with its mounts: it is not run again by itself
    await held(asking.node.id)

    await says('app', 'grant', name)
    expect((await client.nodes.list()).data.map(({ id }) => id)).toEqual([asking.node.id])
  })

  it('rests a node that thinks, visibly, and lets it go on by itself when it is given back', async () => {
    const { name, client } = await register('svc:llm', 'svc:act')
    const release = mock.hold({ text: 'It is done.' })
    const node = await client.nodes.create({
      prompt: 'think',
      cwd: daemon.workDir,
      lifecycle: 'terminal',
      scopes: ['svc:llm'],
    })
    await until(node.id, ({ broker }) => broker !== null, 'to be hosted')
    await waitFor(async () => {
      const { data } = await owner.nodes.events(node.id).recorded()
      return data.some(({ type }) => type === 'turn.started')
    }, patience)

    await says('app', 'revoke', name)

    const { fault } = await held(node.id)
    release()
    mock.always({ text: 'It is done.' })
    expect(fault).toMatchObject({ kind: 'grant' })
    expect(await says('node', 'show', node.id)).toMatch(/^fault +grant: [\s\S]*^retry +held until its app/m)
    const { items } = await owner.canvas.attention()
    expect(items.find(({ node_id }) => node_id === node.id)?.remedy).toContain('svc app grant')

    await says('app', 'grant', name)

    expect(await finished(node.id)).toMatchObject({ status: 'done', final_report: { body: 'It is done.' } })
    const { data } = await owner.request<{ data: { kind: string; ended_at: string | null }[] }>(
      'GET',
      `/v1/nodes/${node.id}/faults`,
    )
    expect(data).toMatchObject([{ kind: 'grant', ended_at: expect.any(String) }])
  })
})

describe('a token that is rotated, expires or is revoked', () => {
  it('stops nobody: what it began goes on by the grant', async () => {
    const { client, minted } = await register('svc:llm', 'svc:act')
    const asking = await Asking.begin(client)
    expect(await asking.ask()).toMatch(/^0$/m)
    const next = await owner.tokens.rotate(minted.id, {})
    expect(await refusal(client.nodes.list().page)).toMatch(/^token_(revoked|expired)$/)
    expect(await asking.ask()).toMatch(/^0$/m)
    await owner.tokens.revoke(next.id)
    expect(await asking.ask()).toMatch(/^0$/m)
    asking.stop()
    expect(await finished(asking.node.id)).toMatchObject({ status: 'done' })
  })
})

describe('a daemon that is killed between the commit of a grant and the copy of it', () => {
  it('comes to the grant as it is', async () => {
    const { app, name, client } = await register('svc:llm', 'svc:act')
    const asking = await Asking.begin(client)
    expect(await asking.ask()).toMatch(/^0$/m)
    const rows = await daemon.database()
    const copied = async () =>
      (await daemon.rows<{ version: string }>('SELECT version FROM canvas.grants WHERE app_id = $1', [app.id]))[0]
        ?.version
    try {
      // nobody can write the copy while this stands
      await rows.run('BEGIN; LOCK TABLE canvas.grants IN EXCLUSIVE MODE')
      await says('app', 'revoke', name)
      expect([(await owner.apps.retrieve(app.id)).grant.version, await copied()]).toEqual([2, '1'])
      daemon.processes.kill('daemon')
    } finally {
      await rows.close()
    }
    await daemon.startAgain()
    await waitFor(async () => (await copied()) === '2', { ...patience, what: 'the copy' })
    await held(asking.node.id)
  })
})
