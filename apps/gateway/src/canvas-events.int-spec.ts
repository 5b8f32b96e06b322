import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { SvcError } from '#common/kernel/errors.js'
import { testDatabase } from '#common/testing/database.js'
import { NatsProcess } from '#common/testing/nats-process.js'
import { waitFor } from '#common/testing/wait-for.js'
import { CanvasWatch } from './stream/canvas.watch.js'
import { TestGateway, TestWatcher } from './testing/gateway.fixture.js'
import { WireLifecycle } from './testing/wire-lifecycle.fixture.js'

let nats: NatsProcess
let gateway: TestGateway
let wire: WireLifecycle
let watchers: TestWatcher[]

beforeAll(async () => {
  nats = await NatsProcess.start()
  wire = await WireLifecycle.start(nats.url)
  gateway = await TestGateway.start(nats.url, await testDatabase(), { SVC_SSE_CLIENTS: 20 })
})
beforeEach(() => {
  watchers = []
})
afterEach(async () => {
  for (const watcher of watchers) watcher.close()
  await waitFor(() => gateway.running.app.get(CanvasWatch).followers === 0, { what: 'the streams of nobody to end' })
})
afterAll(async () => {
  await gateway?.stop()
  await wire?.stop()
  await nats?.stop()
})

const watch = async (query = '', headers: Record<string, string> = {}): Promise<TestWatcher> => {
  const watcher = await TestWatcher.open(gateway, `/v1/canvas/events${query}`, headers)
  watchers.push(watcher)
  return watcher
}
const sees = (watcher: TestWatcher, ids: string[]): Promise<unknown> =>
  waitFor(() => watcher.events.length >= ids.length, { what: `${ids.length} events`, timeout: 8000 }).then(() =>
    expect(watcher.events.map(({ data }) => data.id)).toEqual(ids),
  )

describe('the stream of all events', () => {
  it('begins with what comes, of every node, and goes on after Last-Event-ID', async () => {
    const [one, two] = [wire.create(), wire.create()]
    const watcher = await watch()
    await waitFor(() => wire.asks('lifecycle.canvas.readEvents').length > 0)
    const first = wire.record(one, 'node.bound')
    const second = wire.record(two, 'node.bound', {}, false)
    const third = wire.record(one, 'node.idle')
    await sees(watcher, [first.id, second.id, third.id])
    expect(watcher.events[0]).toMatchObject({ event: 'node.bound', data: { subject: one, seq: 2 } })
    expect(watcher.events[0]?.data).not.toHaveProperty('position')
    const again = await watch('', { 'last-event-id': watcher.events[0]!.id! })
    await sees(again, [second.id, third.id])
    const late = wire.record(two, 'node.idle')
    await sees(again, [second.id, third.id, late.id])
    await sees(watcher, [first.id, second.id, third.id, late.id])
  })

  // A client that saw nothing before it was cut off knew no position: what happened meanwhile was lost to it.
  it('gives a position before the first event, and with those that are not shown', async () => {
    const node = wire.create()
    const response = await gateway.open({
      path: '/v1/canvas/events?types=node.idle',
      token: gateway.token,
      headers: { accept: 'text/event-stream' },
    })
    let text = ''
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await waitFor(() => /^id: \d+\n\n/.test(text), { what: 'a position' })
    wire.record(node, 'node.bound', {}, false)
    const idle = wire.record(node, 'node.idle')
    await waitFor(() => text.includes(idle.id))
    expect(text).toMatch(/id: \d+\n\nid: \d+\nevent: node\.idle\n/)
    response.destroy()
  })

  it('is asked for in the name of the caller, filters and all', async () => {
    const node = wire.create()
    await watch(`?types=report.*,node.dead&under=${node}`, { authorization: `Bearer ${gateway.nodeToken(node)}` })
    await waitFor(() => wire.asks('lifecycle.canvas.readEvents').some(({ ctx }) => ctx.actor.nodeId === node))
    const { input } = wire.asks('lifecycle.canvas.readEvents').at(-1)!
    expect(input).toMatchObject({ types: ['report.pushed', 'node.dead'], under: node })
    const bad = await gateway.ask({ path: '/v1/canvas/events?types=node.dance' })
    expect(bad.body).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/types' }] })
  })

  it('comes as pages to who asks for JSON, from the oldest on', async () => {
    wire.create()
    const page = await gateway.ask({ path: '/v1/canvas/events?limit=1' })
    expect(page.body).toMatchObject({ data: [{ id: wire.log[0]!.id }], has_more: true, next_cursor: '1' })
    const last = await gateway.ask({ path: `/v1/canvas/events?after=${wire.log.length}` })
    expect(last.body).toEqual({ data: [], has_more: false, next_cursor: String(wire.log.length) })
  })

  it('goes on over a restart of the bus and of the writer', async () => {
    const node = wire.create()
    const watcher = await watch(`?after=${wire.log.length}`)
    const events = [wire.record(node, 'node.bound')]
    await sees(
      watcher,
      events.map(({ id }) => id),
    )
    await nats.restart()
    events.push(wire.record(node, 'turn.started', {}, false))
    await sees(
      watcher,
      events.map(({ id }) => id),
    )
    await wire.stop()
    events.push(wire.record(node, 'turn.ended', {}, false))
    await wire.resume(nats.url)
    await sees(
      watcher,
      events.map(({ id }) => id),
    )
    expect(watcher.ended).toBe(false)
  })

  it('asks again soon for what waits for an older transaction', async () => {
    const node = wire.create()
    const watcher = await watch(`?after=${wire.log.length}`)
    await waitFor(() => wire.asks('lifecycle.canvas.readEvents').length > 0)
    wire.held = 1
    const event = wire.record(node, 'node.bound')
    const asked = wire.asks('lifecycle.canvas.readEvents').length
    await waitFor(() => wire.asks('lifecycle.canvas.readEvents').length > asked + 3, { timeout: 2000 })
    expect(watcher.events).toEqual([])
    wire.held = 0
    await sees(watcher, [event.id])
  })

  it('is refused before it begins, and ends with an error that no patience helps', async () => {
    const stream = { accept: 'text/event-stream' }
    wire.answers['lifecycle.canvas.readEvents'] = async () => {
      throw new SvcError('cursor_expired', undefined, { oldest: 'x' })
    }
    const refused = await gateway.ask({ path: '/v1/canvas/events?after=old', headers: stream })
    delete wire.answers['lifecycle.canvas.readEvents']
    expect([refused.status, refused.body.code, refused.body.oldest]).toEqual([410, 'cursor_expired', 'x'])
    const watcher = await watch()
    wire.answers['lifecycle.canvas.readEvents'] = async () => {
      throw new SvcError('not_found')
    }
    wire.record(wire.create(), 'node.bound')
    await waitFor(() => watcher.ended)
    delete wire.answers['lifecycle.canvas.readEvents']
    expect(watcher.events.at(-1)).toMatchObject({ event: 'error', data: { code: 'not_found' } })
  })

  it('keeps nothing for a client that does not read, and gives it all when it does', async () => {
    const node = wire.create()
    const response = await gateway.open({
      path: `/v1/canvas/events?after=${wire.log.length}`,
      token: gateway.token,
      headers: { accept: 'text/event-stream' },
    })
    response.pause()
    const text = 'x'.repeat(4000)
    for (let at = 0; at < 1500; at += 1) wire.record(node, 'message.completed', { text })
    const last = wire.record(node, 'node.idle')
    let read = ''
    let events = 0
    for await (const chunk of response.setEncoding('utf8')) {
      read = (read + chunk).slice(-20_000)
      events += chunk.split('event: message.completed').length - 1
      if (read.includes(last.id)) break
    }
    expect(events).toBeGreaterThan(1490)
    expect(read).not.toContain('overflow')
  })

  // Watchers once stayed when a page was loaded anew, and each of them delivered everything once more.
  it('is one stream for a page that is loaded again and again', async () => {
    const node = wire.create()
    for (let load = 0; load < 8; load += 1) (await watch(`?after=${wire.log.length}`)).close()
    const last = await watch(`?after=${wire.log.length}`)
    await waitFor(() => gateway.running.app.get(CanvasWatch).followers === 1, { what: 'those that left to be gone' })
    const events = [wire.record(node, 'node.bound'), wire.record(node, 'node.idle')]
    await sees(
      last,
      events.map(({ id }) => id),
    )
    expect(watchers.slice(0, -1).flatMap(({ events: seen }) => seen)).toEqual([])
  })

  it('is for a proxy not to keep: its headers say so, and it is never silent for long', async () => {
    const response = await gateway.open({
      path: '/v1/canvas/events',
      token: gateway.token,
      headers: { accept: 'text/event-stream' },
    })
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    expect(response.headers).not.toHaveProperty('content-length')
    response.destroy()
  })
})
