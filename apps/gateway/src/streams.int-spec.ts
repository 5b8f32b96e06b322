import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { SvcError } from '#common/kernel/errors.js'
import { testDatabase } from '#common/testing/database.js'
import { NatsProcess } from '#common/testing/nats-process.js'
import { waitFor } from '#common/testing/wait-for.js'
import { FeedHub } from './stream/feed.hub.js'
import { SseClients } from './stream/sse.clients.js'
import { TestGateway, TestWatcher } from './testing/gateway.fixture.js'
import { WireLifecycle } from './testing/wire-lifecycle.fixture.js'

let nats: NatsProcess
let gateway: TestGateway
let wire: WireLifecycle
let node: string
let watchers: TestWatcher[]

beforeAll(async () => {
  nats = await NatsProcess.start()
  wire = await WireLifecycle.start(nats.url)
  gateway = await TestGateway.start(nats.url, await testDatabase(), { SVC_SSE_CLIENTS: 20 })
})

beforeEach(() => {
  node = wire.create()
  watchers = []
})

afterEach(async () => {
  for (const watcher of watchers) watcher.close()
  await waitFor(() => gateway.running.app.get(FeedHub).feeds === 0, { what: 'the feeds of nobody to be gone' })
})

afterAll(async () => {
  await gateway?.stop()
  await wire?.stop()
  await nats?.stop()
})

const watch = async (path: string, headers: Record<string, string> = {}): Promise<TestWatcher> => {
  const watcher = await TestWatcher.open(gateway, path, headers)
  watchers.push(watcher)
  return watcher
}
const upTo = (last: number, first = 1): string[] =>
  Array.from({ length: last - first + 1 }, (_, at) => String(first + at))
const sees = (watcher: TestWatcher, ids: string[]): Promise<unknown> =>
  waitFor(() => watcher.ids.length >= ids.length, { what: `${ids.length} events` }).then(() =>
    expect(watcher.ids).toEqual(ids),
  )

describe('events of a node', () => {
  it('come as pages to who asks for JSON', async () => {
    for (let at = 0; at < 4; at += 1) wire.record(node, 'node.bound', { at })
    const first = await gateway.ask({ path: `/v1/nodes/${node}/events?limit=3` })
    expect(first.body).toMatchObject({ next_cursor: '3', has_more: true })
    const rest = await gateway.ask({ path: `/v1/nodes/${node}/events?after=3` })
    expect(rest.body.data.map(({ seq }: { seq: number }) => seq)).toEqual([4, 5])
    expect(rest.body.data[0]).not.toHaveProperty('tree_seq')
    expect(rest.body.has_more).toBe(false)
  })

  it('come from the first one, then live, each once', async () => {
    wire.record(node, 'node.bound')
    const watcher = await watch(`/v1/nodes/${node}/events`)
    await sees(watcher, upTo(2))
    for (let at = 0; at < 300; at += 1) wire.record(node, 'message.completed', { at })
    await sees(watcher, upTo(302))
    expect(watcher.events[0]).toMatchObject({ event: 'node.created', data: { seq: 1, subject: node } })
  })

  it('go on after Last-Event-ID, by pages as many as it takes', async () => {
    for (let at = 0; at < 1200; at += 1) wire.record(node, 'message.completed', {}, false)
    const watcher = await watch(`/v1/nodes/${node}/events?after=3`, { 'last-event-id': '7' })
    await sees(watcher, upTo(1201, 8))
  })

  it('end when the node has ended and has had its last word', async () => {
    const watcher = await watch(`/v1/nodes/${node}/events`)
    const late = await watch(`/v1/nodes/${node}/stream?after=0`)
    wire.nodes.get(node)!.node.status = 'done'
    wire.record(node, 'node.done')
    wire.record(node, 'turn.ended')
    await waitFor(() => watcher.ended && late.ended, { what: 'the streams to end' })
    expect(watcher.ids).toEqual(upTo(3))
    expect(watcher.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'settled' } })
    const again = await watch(`/v1/nodes/${node}/events`)
    await waitFor(() => again.ended, { what: 'the stream of an ended node to end' })
    expect(again.ids).toEqual(upTo(3))
  })

  it('of a tree go on when its root has ended', async () => {
    const child = wire.create(node)
    const watcher = await watch(`/v1/nodes/${node}/stream?after=0&tree=true`)
    wire.nodes.get(node)!.node.status = 'done'
    wire.record(node, 'node.done')
    await waitFor(() => watcher.events.at(-1)?.event === 'node.done')
    const plain = await watch(`/v1/nodes/${node}/events`)
    await waitFor(() => plain.ended, { what: 'the stream of the root alone to end' })
    wire.record(child, 'node.bound')
    await waitFor(() => watcher.events.at(-1)?.event === 'node.bound')
    expect(watcher.ended).toBe(false)
  })

  it('show no gap when the tail loses messages', async () => {
    const watcher = await watch(`/v1/nodes/${node}/events`)
    await sees(watcher, ['1'])
    wire.record(node, 'node.bound', {}, false)
    wire.record(node, 'turn.started', {}, false)
    wire.record(node, 'turn.ended')
    await sees(watcher, upTo(4))
    // the last one lost shows no hole: only the net finds it
    wire.record(node, 'node.idle', {}, false)
    await sees(watcher, upTo(5))
  })

  it('are not doubled when the tail repeats and reorders them', async () => {
    const watcher = await watch(`/v1/nodes/${node}/events`)
    const lost = [1, 2, 3].map(() => wire.record(node, 'node.bound', {}, false))
    for (const event of [lost[2], lost[1], lost[0], lost[2]]) wire.announce(event!)
    wire.record(node, 'node.idle')
    await sees(watcher, upTo(5))
  })

  it('go on over a restart of the bus and of the writer', async () => {
    const [live, late] = [await watch(`/v1/nodes/${node}/events`), await watch(`/v1/nodes/${node}/events?after=1`)]
    await sees(live, ['1'])
    await nats.restart()
    wire.record(node, 'node.bound', {}, false)
    await sees(live, upTo(2))
    await wire.stop()
    wire.record(node, 'turn.started', {}, false)
    await wire.resume(nats.url)
    wire.record(node, 'turn.ended')
    await sees(live, upTo(4))
    await sees(late, upTo(4, 2))
    expect([live.ended, late.ended]).toEqual([false, false])
  })

  it('are refused before the stream begins: unknown node, bad cursor', async () => {
    const headers = { accept: 'text/event-stream' }
    const unknown = await gateway.ask({ path: '/v1/nodes/node_01jd0000000000000000000000/events', headers })
    const bad = await gateway.ask({ path: `/v1/nodes/${node}/events?after=nonsense`, headers })
    expect([unknown.body.code, bad.body.code]).toEqual(['not_found', 'malformed_request'])
  })

  // Such a reader waited for ever, and whoever joined it read the same rows over and over without a pause.
  it('are refused after an event that never was, however they are asked for', async () => {
    const stream = { accept: 'text/event-stream' }
    const codes = await Promise.all([
      gateway.ask({ path: `/v1/nodes/${node}/events?after=99`, headers: stream }),
      gateway.ask({ path: `/v1/nodes/${node}/events`, headers: { ...stream, 'last-event-id': '99' } }),
      gateway.ask({ path: `/v1/nodes/${node}/stream?after=99.1.1.0`, headers: stream }),
      gateway.ask({ path: `/v1/nodes/${node}/stream?tree=true&after=99`, headers: stream }),
      gateway.ask({ path: `/v1/nodes/${node}/events?after=99` }),
    ])
    expect(codes.map(({ body }) => body.code)).toEqual(Array(5).fill('cursor_expired'))
    await sees(await watch(`/v1/nodes/${node}/events?after=1`), [])
  })

  it('are watched by as many as the setting allows', async () => {
    await Promise.all(Array.from({ length: 20 }, () => watch(`/v1/nodes/${node}/events`)))
    const { status, body } = await gateway.ask({
      path: `/v1/nodes/${node}/events`,
      headers: { accept: 'text/event-stream' },
    })
    expect([status, body.code, body.limit]).toEqual([429, 'quota_exceeded', 'SVC_SSE_CLIENTS'])
    for (const watcher of watchers) watcher.close()
    await waitFor(() => gateway.running.app.get(SseClients).size === 0)
    wire.record(node, 'node.idle')
    await sees(await watch(`/v1/nodes/${node}/events`), upTo(2))
  })

  it('cut a client off that does not read, and harm no other', async () => {
    const quick = await watch(`/v1/nodes/${node}/events`)
    const slow = await gateway.open({
      path: `/v1/nodes/${node}/events`,
      token: gateway.token,
      headers: { accept: 'text/event-stream' },
    })
    slow.pause()
    const text = 'x'.repeat(60_000)
    for (let at = 2; at <= 200; at += 1) {
      wire.record(node, 'message.completed', { text })
      await waitFor(() => quick.ids.length === at)
    }
    let read = ''
    for await (const chunk of slow.setEncoding('utf8')) read += chunk
    expect(read.slice(-400)).toContain('event: overflow')
    expect(quick.ids).toEqual(upTo(200))
  })
})

describe('the stream of a node', () => {
  it('begins with the node and its text in progress, then shows events and deltas', async () => {
    wire.delta(node, { offset: 0, text: 'Hel' })
    const watcher = await watch(`/v1/nodes/${node}/stream`)
    await waitFor(() => watcher.events.length >= 2)
    wire.delta(node, { offset: 3, text: 'lo' })
    wire.record(node, 'message.completed')
    await waitFor(() => watcher.events.length >= 4)
    expect(watcher.events.map(({ id, event }) => [id, event])).toEqual([
      ['1', 'snapshot'],
      ['1', 'message.snapshot'],
      ['1.1.1.3', 'delta'],
      ['2', 'message.completed'],
    ])
    expect(watcher.events[1]?.data.data).toMatchObject({ node_id: node, text: 'Hel' })
    expect(watcher.events[2]?.data).toMatchObject({ type: 'delta', data: { text: 'lo' } })
  })

  it('sends the text so far to those who missed some of it', async () => {
    const watcher = await watch(`/v1/nodes/${node}/stream`)
    wire.delta(node, { offset: 0, text: 'a' })
    wire.delta(node, { offset: 1, text: 'b' }, false)
    wire.delta(node, { offset: 2, text: 'c' })
    wire.delta(node, { offset: 3, text: 'd' })
    const whole = (): string =>
      watcher.events.reduce((text, { event, data }) => {
        if (event === 'message.snapshot') return data.data.text
        return event === 'delta' ? text.slice(0, data.data.offset) + data.data.text : text
      }, '')
    await waitFor(() => whole() === 'abcd')
  })

  it('shows what jobs print, to those who watch the node or its tree, and stores none of it', async () => {
    const child = wire.create(node)
    const own = await watch(`/v1/nodes/${child}/stream`)
    const tree = await watch(`/v1/nodes/${node}/stream?tree=true`)
    const events = await watch(`/v1/nodes/${child}/events`)
    const chunk = { job_id: 'job_01jd0000000000000000000000', offset: 7, text: 'ok\n' }
    await waitFor(() => own.events.length > 0 && tree.events.length > 0)
    wire.jobOutput(child, chunk, { ...chunk, offset: 90, text: 'later\n' })
    wire.record(child, 'job.ended')
    for (const watcher of [own, tree]) {
      await waitFor(() => watcher.events.at(-1)?.event === 'job.ended')
      expect(watcher.events.slice(-3, -1).map(({ data }) => data)).toEqual([
        { type: 'job.output', data: { node_id: child, ...chunk } },
        { type: 'job.output', data: { node_id: child, ...chunk, offset: 90, text: 'later\n' } },
      ])
    }
    expect(own.ids.slice(-3)).toEqual(['1.7', '1.90', '2'])
    await waitFor(() => events.events.at(-1)?.event === 'job.ended')
    expect(events.ids).toEqual(['1', '2'])
  })

  it('goes on from the id of a delta', async () => {
    wire.record(node, 'node.bound')
    const watcher = await watch(`/v1/nodes/${node}/stream?after=1.1.1.12`)
    await waitFor(() => watcher.events.length >= 2)
    expect(watcher.ids).toEqual(['1', '2'])
  })

  it('of a tree counts over the tree; of a part of it shows that part alone', async () => {
    const [left, right] = [wire.create(node), wire.create(node)]
    const tree = await watch(`/v1/nodes/${node}/stream?tree=true&after=0`)
    const part = await watch(`/v1/nodes/${left}/stream?tree=true&after=0`)
    const leaf = wire.create(left)
    wire.record(right, 'node.idle')
    wire.record(leaf, 'node.idle')
    await sees(tree, ['0', ...upTo(6)])
    await sees(part, ['0', '2', '4', '6'])
  })
})

describe('a stream that a service answers', () => {
  it('is handed on, and canceled there when its client goes', async () => {
    const response = await gateway.open({ path: `/v1/nodes/${node}/broker/signals`, token: gateway.nodeToken(node) })
    const [chunk] = (await new Promise((resolve) => response.once('data', (...args) => resolve(args)))) as [Buffer]
    expect(chunk.toString()).toBe('event: mail\ndata: {"type":"mail","urgent":false,"critical":false}\n\n')
    const { signal } = wire.asks('nodes.broker.signals').at(-1)!.ctx
    response.destroy()
    await waitFor(() => signal.aborted)
  })

  const ask = (accept: string) =>
    gateway.open({
      method: 'POST',
      path: '/v1/llm',
      token: gateway.token,
      headers: { accept },
      body: { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] },
    })
  const textOf = async (response: Awaited<ReturnType<typeof ask>>): Promise<string> => {
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    return text
  }

  it('comes as its items, or as the one answer, by the Accept header', async () => {
    const names = [...(await textOf(await ask('text/event-stream'))).matchAll(/^event: (.*)$/gm)].map(
      ([, name]) => name,
    )
    expect(names).toEqual(['text', 'answer', 'end'])
    expect(JSON.parse(await textOf(await ask('application/json')))).toEqual({ content: [], finish_reason: 'stop' })
  })

  it('is canceled there when there is no room for it any more once it comes', async () => {
    const taken = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<AbortSignal>()
    wire.answers['llm.call'] = async ({ signal }) => {
      asked.resolve(signal)
      await taken.promise
      return (async function* () {
        yield { type: 'text', text: 'Hel' }
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      })()
    }
    const answer = ask('text/event-stream')
    const signal = await asked.promise
    await Promise.all(Array.from({ length: 20 }, () => watch(`/v1/nodes/${node}/events`)))
    taken.resolve()
    expect((await answer).statusCode).toBe(429)
    await waitFor(() => signal.aborted)
    delete wire.answers['llm.call']
  })

  it('is refused as any request is, and fails later with a last error event', async () => {
    wire.answers['llm.call'] = async () => {
      throw new SvcError('model_not_configured')
    }
    expect((await ask('text/event-stream')).statusCode).toBe(503)
    wire.answers['llm.call'] = async function* () {
      yield { type: 'text', text: 'Hel' }
      throw new SvcError('model_error', 'it broke', { provider: 'p' })
    }
    const text = await textOf(await ask('text/event-stream'))
    delete wire.answers['llm.call']
    expect(text).toMatch(/^event: text\n/)
    const problem = JSON.parse(/event: error\ndata: (.*)\n\n$/.exec(text)?.[1] ?? 'null')
    expect(problem).toMatchObject({ code: 'model_error', status: 502, provider: 'p' })
  })
})

describe('a gateway that goes down', () => {
  it('ends its streams, lets requests finish, and takes no more', async () => {
    const other = await TestGateway.start(nats.url, await testDatabase())
    const answers: ((value: unknown) => void)[] = []
    wire.answers['nodes.outcome'] = () => new Promise((resolve) => answers.push(resolve))
    const watcher = await TestWatcher.open(other, `/v1/nodes/${node}/events`)
    const inHand = other.ask({ path: `/v1/nodes/${node}/outcome` })
    const held = other.ask({ path: `/v1/nodes/${node}/outcome?wait=30` })
    await waitFor(() => answers.length === 2)
    const { base } = other
    const stopped = other.stop()
    await waitFor(() => watcher.ended)
    expect(watcher.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'draining' } })
    await expect(fetch(`${base}/healthz`)).rejects.toThrow()
    // what only waits for something to happen is sent away, and can ask again
    expect((await held).body).toMatchObject({ code: 'service_unavailable', retryable: true })
    for (const answer of answers) answer({ done: true })
    expect((await inHand).body).toEqual({ done: true })
    await stopped
    delete wire.answers['nodes.outcome']
  })

  it('keeps its owner’s token over a restart, and takes a new one when the file is gone', async () => {
    const other = await TestGateway.start(nats.url, await testDatabase())
    const { token: first, settings } = other
    await other.running.close()
    const again = await TestGateway.run(settings)
    expect(other.token).toBe(first)
    await again.close()
    const { rmSync } = await import('node:fs')
    rmSync(`${settings.SVC_DATA_DIR}/owner.token`)
    const last = await TestGateway.run(settings)
    expect(other.token).not.toBe(first)
    const rows = await other.database.query<{ valid: boolean }>(
      'SELECT revoked_at IS NULL AS valid FROM gateway.tokens ORDER BY created_at',
    )
    expect(rows.map(({ valid }) => valid)).toEqual([false, true])
    await last.close()
    await other.database.drop()
  })
})
