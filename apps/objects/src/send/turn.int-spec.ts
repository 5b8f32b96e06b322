import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { traceBy } from '#common/kernel/trace/span.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { Sending } from './sending.fixture.js'
import { WebhookReceiver } from './webhook.receiver.fixture.js'

let sending: Sending
let receiver: WebhookReceiver

beforeEach(async () => {
  sending = await Sending.start()
  receiver = await WebhookReceiver.start()
})
afterEach(async () => {
  const stopping = sending.stop()
  await receiver.close()
  await stopping
})

describe('a delivery on its way', () => {
  // a trace that is made for each try would be another one each time
  it('belongs to no trace when its event belongs to none, whoever collects traces', async () => {
    traceBy(new TracerProvider().getTracer('test'))
    await sending.hook('hook', receiver.url)
    await sending.publish(1)
    await sending.untilAcked('hook').finally(() => traceBy(undefined))
    expect(receiver.messages[0]).toMatchObject({ trace_id: null })
    expect(receiver.requests[0]?.headers.traceparent).toBeUndefined()
  })

  // what was noted of an acknowledged delivery would be sent again without an end: nothing new is acknowledged by its answer
  it('leaves nothing to be tried again when its owner acknowledges it in the same moment', async () => {
    const { database } = sending.objects
    const failures = () => database.query('SELECT * FROM objects.failures')
    let answer = (): void => undefined
    receiver.answer = (response) => {
      answer = () => response.writeHead(500).end()
    }
    const { id } = await sending.hook('hook', receiver.url)
    await sending.publish(1)
    await waitFor(() => receiver.requests.length === 1)
    const owner = await openAdmin(database.url)
    await owner.run(`BEGIN; UPDATE objects.acks SET acked = '{[1,2)}', acked_count = 1 WHERE receiver_id = '${id}'`)
    answer()
    await waitFor(async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      return (await failures()).length === 1 || (await database.query(waiting)).length === 1
    })
    await owner.run('COMMIT')
    await owner.close()
    await waitFor(async () => (await sending.hold(id)).holder === null)
    expect(await failures()).toEqual([])
  })
})
