import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'
import { nodeCall, ObjectsUnderTest } from '../../../../test/support/objects-service.js'
import { FanOut } from '../publish/fan-out.js'
import { watchingOf } from './node-watch.fixture.js'

/** Both services as they are, on one bus. */
let [lifecycle, objects] = [] as unknown as [LifecycleUnderTest, ObjectsUnderTest]
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  objects = await ObjectsUnderTest.start()
})
afterAll(async () => {
  await objects.stop()
  await lifecycle.stop()
})

const { register, queue, watch, publish, rows, watchesOf, watchers, told, payloads } = watchingOf(
  () => lifecycle,
  () => objects,
)

type Root = Awaited<ReturnType<LifecycleUnderTest['running']>>
const resident = (): Promise<Root> => lifecycle.running({ lifecycle: 'resident' })

/** What a receiver was told, in its order: bodies of reports but for a root's last one, else names of events; behind the source where asked. */
const heard = async (receiver: string, sources = false): Promise<string[]> => {
  const found = await rows<{ source_id: string; told: string }>(
    `SELECT e.source_id, CASE e.payload ->> 'kind' WHEN 'final' THEN 'its last word' ELSE coalesce(e.payload ->> 'body', e.event) END AS told
       FROM objects.deliveries d
       JOIN objects.events e ON e.source_id = d.source_id AND e.seq = d.source_seq WHERE d.receiver_id = $1 ORDER BY d.seq`,
    [receiver],
  )
  return found.map(({ source_id, told }) => (sources ? `${source_id} ${told}` : told))
}
const hears = (receiver: string, last: string) =>
  waitFor(async () => (await heard(receiver)).includes(last), { what: `${last} to be told` })

const recycle = async (id: string): Promise<Pick<Root, 'node' | 'broker'>> => {
  const { node } = await lifecycle.call('nodes.recycle', { id })
  return { node, broker: (await lifecycle.bound(node.id, 1)).broker }
}

const relaunch = async (id: string): Promise<Pick<Root, 'node' | 'broker'>> => {
  const { node } = await lifecycle.call('nodes.relaunchRoot', { id })
  const { broker } = await lifecycle.bound(node.id, 1)
  await waitFor(async () => (await lifecycle.retrieve(node.id)).succession === 'taken_over', { what: 'the take-over' })
  return { node, broker }
}

const reports = { events: ['report.pushed'] }

describe.each([
  ['recycled', recycle],
  ['relaunched', relaunch],
])('whoever watches a root that is %s', (_how, replace) => {
  it('is told what the new one does at once', async () => {
    for (let n = 0; n < 5; n += 1) {
      const { node, broker } = await resident()
      const board = await register(queue)
      await watch(board.id, node.id, reports)
      await broker.push('update', 'the old one')
      const next = await replace(node.id)
      await next.broker.push('update', 'at once')
      await waitFor(async () => (await watchesOf(next.node.id)).length === 1, { what: 'the watch to go over' })
      await next.broker.push('update', 'later')
      await hears(board.id, 'later')
      expect(await heard(board.id)).toEqual(['the old one', 'its last word', 'at once', 'later'])
    }
  }, 60_000)

  it('is told all of both, in their order, by the processes that come back', async () => {
    const { node, broker } = await resident()
    const board = await register(queue)
    await watch(board.id, node.id, reports)
    await objects.stopService()
    await broker.push('update', 'the old one')
    const second = await replace(node.id)
    await second.broker.push('update', 'the second')
    const third = await replace(second.node.id)
    await third.broker.push('update', 'the third')
    const both = await Promise.all([objects.another(), objects.another()])
    await hears(board.id, 'the third')
    await third.broker.push('update', 'later')
    await hears(board.id, 'later')
    expect(await heard(board.id)).toEqual([
      'the old one',
      'its last word',
      'the second',
      'its last word',
      'the third',
      'later',
    ])
    expect(await Promise.all([node.id, second.node.id, third.node.id].map(watchers))).toEqual([0, 0, 1])
    await objects.stopService(both[1])
  }, 60_000)

  it('is told once that it was replaced', async () => {
    const { node } = await resident()
    const board = await register(queue)
    await watch(board.id, node.id, { events: ['node.recycled', 'node.relaunched', 'report.pushed'] })
    const next = await replace(node.id)
    await next.broker.push('update', 'later')
    await hears(board.id, 'later')
    const all = await heard(board.id, true)
    expect(all.filter((line) => line.includes(' node.re'))).toEqual([expect.stringContaining(node.id)])
  })

  it('is told each once when it watches the new one already', async () => {
    const { node } = await resident()
    const board = await register(queue)
    await watch(board.id, node.id, reports)
    await objects.stopService()
    const { node: next } = await lifecycle.call(replace === recycle ? 'nodes.recycle' : 'nodes.relaunchRoot', {
      id: node.id,
    })
    await objects.another()
    await watch(board.id, next.id, { events: ['report.pushed', 'question.asked'] })
    const { broker } = await lifecycle.bound(next.id, 1)
    await broker.push('update', 'once')
    await waitFor(async () => (await watchers(node.id)) === 0)
    await broker.push('update', 'later')
    await hears(board.id, 'later')
    expect((await heard(board.id)).filter((told) => told !== 'its last word')).toEqual(['once', 'later'])
    expect(await watchers(next.id)).toBe(1)
  })
})

describe('a root that gives its place to another', () => {
  const held: (() => Promise<void>)[] = []
  /** Another one at the tables of objects, whose locks are waited for. */
  const holding = async (statement: string): Promise<() => Promise<void>> => {
    const slow = await openAdmin(objects.database.url)
    await slow.run(`BEGIN; ${statement}`)
    const release = async () => {
      await slow.run('ROLLBACK')
      await slow.close()
    }
    held.push(release)
    return async () => {
      held.length = 0
      await release()
    }
  }
  afterEach(() => Promise.all(held.splice(0).map((release) => release())))
  const waiting = (count: number) =>
    waitFor(
      async () => {
        const found = await rows(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return found.length >= count
      },
      { what: `${count} to wait for a lock` },
    )

  it('has what it did told to very many before they are told of the new one', async () => {
    const { node, broker } = await resident()
    const boards = await Promise.all(Array.from({ length: 70 }, () => register(queue)))
    for (const { id } of boards) await watch(id, node.id, reports)
    const fanOut = objects.service.app.get(FanOut, { strict: false })
    await fanOut.stop()
    await broker.push('update', 'the old one')
    await waitFor(async () => (await rows('SELECT 1 FROM objects.fanouts WHERE source_id = $1', [node.id])).length > 0)
    const next = await recycle(node.id)
    await next.broker.push('update', 'the new one')
    expect(await heard(boards[0]?.id as string)).toEqual([])
    fanOut.start()
    for (const { id } of boards) {
      await hears(id, 'the new one')
      expect(await heard(id)).toEqual(['the old one', 'its last word', 'the new one'])
    }
    expect(await Promise.all([node.id, next.node.id].map(watchers))).toEqual([0, 70])
  }, 60_000)

  it('goes on watching what very many watch only when all of them have what is on its way, and is told once of that', async () => {
    const [sensor, { node }] = [await register(), await resident()]
    const boards = await Promise.all(Array.from({ length: 70 }, () => register(queue)))
    for (const { id } of [...boards, node]) await watch(id, sensor.id)
    const fanOut = objects.service.app.get(FanOut, { strict: false })
    await fanOut.stop()
    await publish(sensor.id, 'on its way')
    const { node: next } = await recycle(node.id)
    const at = new Date(objects.clock.now()).toISOString()
    const early = { source_event: `early ${node.id}`, from: node.id, to: next.id, at }
    await expect(objects.call('objects.node.succeeded', early)).rejects.toMatchObject({ code: 'service_unavailable' })
    fanOut.start()
    await waitFor(async () => (await watchesOf(next.id)).length === 1, { what: 'the watch to go over' })
    await publish(sensor.id, 'later')
    expect(payloads(await told(next.id, 2))).toEqual(['on its way', 'later'])
  }, 60_000)

  it('takes whoever asks to watch it meanwhile, or says so again, along', async () => {
    const { node } = await resident()
    const [early, late] = [await register(queue), await register(queue)]
    await watch(early.id, node.id, reports)
    const release = await holding('SELECT 1 FROM objects.follow FOR UPDATE')
    const next = await recycle(node.id)
    await lifecycle.until(node.id, 'done')
    for (const { id } of [early, late]) expect(await watch(id, node.id, reports)).toMatchObject({ source: node.id })
    await next.broker.push('update', 'to both')
    await release()
    for (const { id } of [early, late]) await hears(id, 'to both')
    expect(await Promise.all([node.id, next.node.id].map(watchers))).toEqual([0, 2])
  })

  it('takes along whose watch was asked for before, and is made after', async () => {
    const { node } = await resident()
    const board = await register(queue)
    const release = await holding(`SELECT 1 FROM objects.sources WHERE id = '${board.id}' FOR UPDATE`)
    const put = watch(board.id, node.id, reports)
    await waiting(1)
    const next = await recycle(node.id)
    await release()
    await put
    await waitFor(async () => (await watchers(next.node.id)) === 1, { what: 'the watch to go over' })
    await next.broker.push('update', 'later')
    await hears(board.id, 'later')
  })

  it('leads who watches it from then on to the new one, which does not watch itself', async () => {
    const { node } = await resident()
    const [first, board] = [await register(queue), await register(queue)]
    await watch(first.id, node.id, reports)
    const second = await recycle(node.id)
    const third = await recycle(second.node.id)
    await waitFor(async () => (await watchers(third.node.id)) === 1)
    expect(await watch(board.id, node.id, reports)).toMatchObject({ watcher: board.id, source: third.node.id })
    await third.broker.push('update', 'heard')
    await hears(board.id, 'heard')
    const { id } = third.node
    const itself = objects.call('canvas.watches.put', { watcher: id, source: node.id, events: null, tier: 'normal' })
    await expect(itself).rejects.toMatchObject({ code: 'validation_failed' })
    const own = { watcher: id, source: second.node.id, events: null, tier: 'normal' }
    await expect(objects.call('canvas.watches.put', own, nodeCall(id))).rejects.toBeDefined()
    expect(await watchers(id)).toBe(2)
  })

  it('is watched itself once it is brought back, whatever is told late of its succession', async () => {
    const { node } = await resident()
    const board = await register(queue)
    await watch(board.id, node.id, reports)
    const next = await recycle(node.id)
    await waitFor(async () => (await watchers(next.node.id)) === 1)
    const at = new Date(objects.clock.now()).toISOString()
    await lifecycle.call('nodes.revive', { id: node.id })
    await waitFor(() => objects.clock.now() > Date.parse(at))
    expect(await watch(board.id, node.id, reports)).toMatchObject({ source: node.id })
    const late = { source_event: `late ${node.id}`, from: node.id, to: next.node.id, at }
    expect(await objects.call('objects.node.succeeded', late)).toEqual({ moved: 0 })
    expect(await Promise.all([node.id, next.node.id].map(watchers))).toEqual([1, 1])
  })
})

describe('a watch that is put again', () => {
  it('after its watcher was brought back survives the late word of the end', async () => {
    const [{ node }, { id }] = [await resident(), await lifecycle.create()]
    await watch(id, node.id, reports)
    const { created_at } = await watch(id, node.id, reports)
    const end = async (source_event: string) => {
      const ended_at = new Date(objects.clock.now()).toISOString()
      await waitFor(() => objects.clock.now() > Date.parse(ended_at))
      return { source_event: `${source_event} ${id}`, node_id: id, how: 'finalized', ended_at }
    }
    const late = await end('late')
    expect(await watch(id, node.id, reports)).toMatchObject({ created_at })
    expect(await objects.call('objects.node.ended', late)).toEqual({ removed: 0 })
    expect(await watchers(node.id)).toBe(1)
    expect(await objects.call('objects.node.ended', await end('now'))).toEqual({ removed: 1 })
    expect(await watchers(node.id)).toBe(0)
  })
})
