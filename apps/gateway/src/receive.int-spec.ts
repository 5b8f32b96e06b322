import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type InputOf } from '#common/contract/index.js'
import { SvcError } from '#common/kernel/errors.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestGateway, TestWatcher } from './testing/gateway.fixture.js'

const receive = contract['customObjects.receive']
const path = '/v1/custom-objects/build-server/receive'

let gateway: TestGateway
let objects: TestPeer
let asked: InputOf<typeof receive>[] = []
let deadlines: unknown[] = []
let answer: () => AsyncGenerator<unknown>
beforeAll(async () => {
  const { url } = testNats()
  gateway = await TestGateway.start(url, await testDatabase())
  objects = await joinBus(url, 'objects', {
    operations: [receive],
    handlers: {
      [receive.name]: async ({ deadline }, input) => {
        asked.push(input as InputOf<typeof receive>)
        deadlines.push(deadline)
        return answer()
      },
    },
  })
})
afterEach(() => {
  asked = []
  deadlines = []
})
afterAll(async () => {
  await objects?.close()
  await gateway?.stop()
})

const delivery = (seq: number) => ({ id: `dlv_${seq}`, seq, event: 'build.failed', payload: { type: 'not this' } })

describe('deliveries of a queue as server-sent events', () => {
  it('are named `delivery`, and say their position as the id', async () => {
    answer = async function* () {
      yield delivery(7)
      yield delivery(9)
    }
    const watcher = await TestWatcher.open(gateway, path)
    await waitFor(() => watcher.ended, { what: 'the stream to end' })
    expect(watcher.events).toEqual([
      { id: '7', event: 'delivery', data: delivery(7) },
      { id: '9', event: 'delivery', data: delivery(9) },
      expect.objectContaining({ event: 'end' }),
    ])
  })

  it('go on behind a position, which the header of one who comes back says too', async () => {
    answer = async function* () {}
    await TestWatcher.open(gateway, `${path}?after=41`)
    await TestWatcher.open(gateway, path, { 'last-event-id': '42' })
    await TestWatcher.open(gateway, path)
    expect(asked).toEqual([
      { ref: 'build-server', after: 41 },
      { ref: 'build-server', after: 42 },
      { ref: 'build-server' },
    ])
  })

  // a stream of deliveries was ended after ten seconds, as a request is that takes too long
  it('go on for as long as somebody reads', async () => {
    answer = async function* () {}
    await TestWatcher.open(gateway, path)
    expect(deadlines).toEqual([undefined])
  })

  it('end with what ended them as the last event', async () => {
    answer = async function* () {
      yield delivery(1)
      throw new SvcError('not_found', 'There is no object build-server.')
    }
    const watcher = await TestWatcher.open(gateway, path)
    await waitFor(() => watcher.ended, { what: 'the stream to end' })
    expect(watcher.events.at(-1)).toMatchObject({ event: 'error', data: { code: 'not_found' } })
  })
})
