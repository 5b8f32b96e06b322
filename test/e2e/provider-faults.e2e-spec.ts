import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type MockAnswer, MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Node, NodesFaultsListResponse } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { TcpProxy } from '../support/tcp-proxy.js'

const patience = { timeout: 60_000, interval: 50 }

let daemon: TestDaemon
let mock: MockModel
let other: MockModel
let proxy: TcpProxy
let client: Client

const providerAt = (base_url: string) => ({ type: 'openai-compatible' as const, base_url })
const baseUrl = (model: MockModel): string => model.baseUrl('openai-compatible')

/** Medium is the mock behind a line that can be cut, strong has a second provider, light one that no name server knows. */
const configure = (): Promise<unknown> =>
  client.models.config.update({
    providers: {
      mock: providerAt(baseUrl(mock)),
      lined: providerAt(proxy.through(baseUrl(mock))),
      spare: providerAt(baseUrl(other)),
      nowhere: providerAt('http://models.invalid/v1'),
    },
    ladders: { light: ['nowhere/m'], medium: ['mock/m-1'], strong: ['mock/m-1', 'spare/m-2'], ultra: ['lined/m-1'] },
  })

beforeAll(async () => {
  ;[daemon, mock, other] = await Promise.all([
    TestDaemon.start({ env: { SVC_FIRST_TOKEN_MS: '1500', SVC_RECONCILE_MS: '500' } }),
    MockModel.start(),
    MockModel.start(),
  ])
  proxy = await TcpProxy.before(baseUrl(mock))
  client = daemon.client()
  await configure()
})
beforeEach(() => {
  mock.reset()
  other.reset()
})
afterAll(() => Promise.all([daemon.stop(), mock.stop(), other.stop(), proxy.close()]))

type Strength = 'light' | 'medium' | 'strong' | 'ultra'
const done: MockAnswer = { text: 'It is done.' }

const start = (strength: Strength, override?: string): Promise<Node> =>
  client.nodes.create({
    prompt: `work with ${override ?? strength}`,
    cwd: daemon.workDir,
    lifecycle: 'terminal',
    model: { strength, ...(override !== undefined && { override }) },
  })
const faulty = (id: string, kind: string): Promise<Node> =>
  waitFor(
    async () => {
      const node = await client.nodes.retrieve(id)
      return node.fault?.kind === kind ? node : null
    },
    { ...patience, what: `the fault ${kind} of ${id}` },
  )
const faultsOf = async (id: string): Promise<NodesFaultsListResponse['data']> =>
  (await client.request<NodesFaultsListResponse>('GET', `/v1/nodes/${id}/faults`)).data
const typesOf = async (id: string): Promise<string[]> =>
  (await client.nodes.events(id, { limit: 200 }).recorded().page).data.map(({ type }) => type)
const shown = async (id: string): Promise<string> => (await svc(daemon, ['node', 'show', id])).stdout
const finished = (id: string) => client.nodes.waitForOutcome(id, { timeout: 90_000 })

describe('a provider that limits the rate', () => {
  it('with a time to wait is asked again then, by the same turn, and the node says so meanwhile', async () => {
    mock.next({ error: { status: 429, message: 'slow down', retryAfter: 3 } }).always(done)
    const { id } = await start('medium')

    const held = await faulty(id, 'rate_limit')

    expect(held).toMatchObject({ status: 'active', generation: 1, fault: { tries: 1 } })
    const { retry_at, last_at } = held.fault ?? {}
    expect(Date.parse(retry_at as string) - Date.parse(last_at as string)).toBe(3000)
    expect(await shown(id)).toMatch(/fault {2,}rate_limit: .*slow down\nretry {2,}at .*\(failed once since/)
    expect(await finished(id)).toMatchObject({ status: 'done', final_report: { body: 'It is done.' } })
    expect(await client.nodes.retrieve(id)).toMatchObject({ generation: 1, fault: null, answered_by: 'mock/m-1' })
    expect(await typesOf(id)).toEqual(expect.arrayContaining(['node.fault', 'node.fault_cleared']))
    expect(await faultsOf(id)).toMatchObject([{ kind: 'rate_limit', tries: 1, ended_at: expect.any(String) }])
  })

  it('for long frees the process, and is asked at once when somebody says so', async () => {
    mock.next({ error: { status: 429, message: 'come back later', retryAfter: 600 } }).always(done)
    const { id } = await start('medium')
    const held = await waitFor(
      async () => {
        const node = await client.nodes.retrieve(id)
        return node.fault && node.generation === 2 ? node : null
      },
      { ...patience, what: 'the end of the turn' },
    )
    expect(held).toMatchObject({ status: 'active', broker: null, fault: { kind: 'rate_limit' } })
    expect(Date.parse(held.fault?.retry_at as string) - Date.parse(held.fault?.last_at as string)).toBeGreaterThan(
      599_000,
    )

    expect(await svc(daemon, ['node', 'retry', id])).toMatchObject({ code: 0 })

    expect(await finished(id)).toMatchObject({ status: 'done' })
  })

  it('without a time is asked ever later, and goes on', async () => {
    mock.next({ error: { status: 429, message: 'slow down' } }, 2).always(done)
    const { id } = await start('medium')
    expect(await finished(id)).toMatchObject({ status: 'done' })
    expect(await faultsOf(id)).toMatchObject([{ kind: 'rate_limit', tries: 2, ended_at: expect.any(String) }])
    expect(mock.requests()).toHaveLength(3)
  })
})

describe('a provider that fails', () => {
  it.each([
    ['an error of its own', { error: { status: 500, message: 'it broke' } }, 'overloaded'],
    ['an answer that is cut off', { text: 'It was so long', chunkSize: 2, cutAfterChunks: 3 }, 'connection'],
  ] as const)('with %s is asked again, and the node shows what it met', async (_what, answer, kind) => {
    mock.next(answer, 2).always(done)
    const { id } = await start('medium')
    expect(await finished(id)).toMatchObject({ status: 'done', final_report: { body: 'It is done.' } })
    expect(await faultsOf(id)).toMatchObject([{ kind, tries: 2, ended_at: expect.any(String) }])
    expect(await client.nodes.retrieve(id)).toMatchObject({ generation: 1, fault: null })
  })

  it('before its first word is followed by the next one of the ladder, and the node shows which one answered', async () => {
    const failures: MockAnswer[] = [
      { error: { status: 500, message: 'it broke' } },
      { error: { status: 429, message: 'slow down', retryAfter: 600 } },
      { error: { status: 401, message: 'no such key' } },
      { error: { status: 404, message: 'The model `m-1` does not exist', code: 'model_not_found' } },
      { text: 'too late', delay: 10_000 },
    ]
    other.always(done)
    for (const failure of failures) {
      mock.next(failure)
      const { id } = await start('strong')
      expect(await finished(id)).toMatchObject({ status: 'done' })
      expect(await client.nodes.retrieve(id)).toMatchObject({ fault: null, answered_by: 'spare/m-2' })
      expect(await faultsOf(id)).toEqual([])
    }
  })

  it('with a slow first word and nobody to follow it is a broken connection', async () => {
    mock.next({ text: 'too late', delay: 10_000 }).always(done)
    const { id } = await start('medium')
    const { fault } = await faulty(id, 'connection')
    expect(fault?.message).toContain('did not begin to answer')
    expect(await finished(id)).toMatchObject({ status: 'done' })
  })
})

describe('a provider that is away', () => {
  // Faults 8 and 9: what was stopped by an outage was tried blindly, or stayed stopped when the provider was back.
  it('holds the node without a process, and is asked again as soon as it is back', async () => {
    mock.always(done)
    await proxy.close()
    const { id } = await start('ultra')
    const held = await waitFor(
      async () => {
        const node = await client.nodes.retrieve(id)
        return node.fault?.held_for === 'provider' ? node : null
      },
      { ...patience, what: 'the hold' },
    )
    expect(held).toMatchObject({ status: 'active', broker: null, fault: { kind: 'connection' } })
    expect(await shown(id)).toContain('held until its provider answers')
    const { generation } = held

    await proxy.open()

    expect(await finished(id)).toMatchObject({ status: 'done' })
    expect(await client.nodes.retrieve(id)).toMatchObject({ generation, fault: null, answered_by: 'lined/m-1' })
    expect(await faultsOf(id)).toMatchObject([{ kind: 'connection', ended_at: expect.any(String) }])
  })

  it('since nobody knows its name is one as well', async () => {
    const { id } = await start('light')
    const { fault, status } = await faulty(id, 'connection')
    expect({ status, message: fault?.message }).toEqual({
      status: 'active',
      message: expect.stringMatching(/nowhere\/m: .*(ENOTFOUND|EAI_AGAIN|left alone)/),
    })
    await client.nodes.cancel(id)
  })
})

describe('a refused key', () => {
  it('holds the node for a person, and it goes on with the next key', async () => {
    mock.next({ error: { status: 401, message: 'no such key' } }).always(done)
    const { id } = await start('medium')
    const held = await faulty(id, 'auth')
    expect(held).toMatchObject({ status: 'active', fault: { held_for: 'credential' } })
    expect(await shown(id)).toContain('svc model add')
    const attention = await client.canvas.attention()
    expect(attention.items.find(({ node_id }) => node_id === id)?.remedy).toContain('svc model add')

    await client.models.credentials.install('mock', { kind: 'api_key', api_key: 'sk-0123456789abcdef' })

    expect(await finished(id)).toMatchObject({ status: 'done' })
  })
})

describe('a model that nobody knows', () => {
  const unknown: MockAnswer = { error: { status: 404, message: 'The model does not exist', code: 'model_not_found' } }

  // Fault 38: a model that was named and does not exist was replaced without a word.
  it('and was named is never replaced: the node is dead, and says so', async () => {
    mock.always(unknown)
    other.always(done)
    const { id } = await start('strong', 'mock/m-9')
    expect(await finished(id)).toMatchObject({ status: 'dead', error: { kind: 'model_not_found' } })
    expect(await shown(id)).toMatch(/status {2,}dead\n(.*\n)*?fault {2,}model_not_found: .*m-9/)
    expect(other.requests()).toEqual([])
    expect(await typesOf(id)).toContain('node.dead')
  })

  // Fault 10: each revive asked the same missing model first, and only it.
  it('does not end a node whose ladder has another, however often it is brought back', async () => {
    mock.always(unknown)
    other.always(done)
    const { id } = await start('strong')
    for (let round = 1; round <= 2; round += 1) {
      expect(await finished(id)).toMatchObject({ status: 'done', engagement: round })
      await client.nodes.message(id, { body: 'once more' })
    }
    expect(await finished(id)).toMatchObject({ status: 'done' })
    expect((await client.nodes.retrieve(id)).answered_by).toBe('spare/m-2')
  })
})
