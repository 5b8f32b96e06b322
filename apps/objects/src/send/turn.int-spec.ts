import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { traceBy } from '#common/kernel/trace/span.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { mostTries } from './retry.schedule.js'
import { Sending } from './sending.fixture.js'
import { answers, WebhookReceiver } from './webhook.receiver.fixture.js'

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

describe('the last try of a delivery', () => {
  /** The only delivery of a new receiver, failed by then, has its last try under way; answers what ends that try in vain. */
  const onItsWay = async (): Promise<{ id: string; delivery: string; fail: () => Promise<unknown> }> => {
    receiver.answer = answers.status(500)
    const { id } = await sending.hook('hook', receiver.url)
    await sending.publish(1)
    const { id: delivery } = await sending.until('hook', { state: 'failed' })
    let end: (() => void) | undefined
    receiver.answer = (response) => {
      end = () => response.writeHead(500).end()
    }
    await sending.objects.database.query('UPDATE objects.failures SET attempt = $1', [mostTries - 1])
    sending.objects.clock.advance(6000)
    await waitFor(() => end !== undefined, { what: 'the last try' })
    const fail = () => {
      end?.()
      return waitFor(async () => (await sending.hold(id)).holder === null, { what: 'the receiver to be let go' })
    }
    return { id, delivery, fail }
  }

  // Its delivery was dead, the receiver active once it was resumed, and nobody had been told.
  it('tells somebody when it fails, though the owner has paused the receiver meanwhile', async () => {
    const { id, fail } = await onItsWay()
    const { receiver_state: paused } = await sending.objects.call('customObjects.pause', { ref: 'hook' })
    await fail()
    expect((await sending.retrieve('hook')).receiver_state).toEqual({ ...paused, reason: 'dead', failed: 0, dead: 1 })
    await waitFor(() => sending.concerns.length === 1)
    expect(sending.concerns[0]).toMatchObject({ ref: id, version: 2, concern: { name: 'hook' } })
    await sending.objects.call('customObjects.resume', { ref: 'hook' })
    await waitFor(() => sending.concerns.length === 2)
    expect(sending.concerns[1]).toEqual({ ref: id, version: 3, concern: null })
  })

  it('is not told of again when one before it has paused the receiver already', async () => {
    const { id, fail } = await onItsWay()
    await sending.objects.database.query(
      `UPDATE objects.receivers SET status = 'paused', reason = 'gone', paused_at = now() WHERE id = $1`,
      [id],
    )
    await fail()
    expect((await sending.retrieve('hook')).receiver_state).toMatchObject({ reason: 'gone', dead: 1 })
    expect(await sending.objects.database.query('SELECT status_version FROM objects.receivers')).toEqual([
      { status_version: 0 },
    ])
  })

  it('pauses nothing when its owner has acknowledged the delivery meanwhile', async () => {
    const { delivery, fail } = await onItsWay()
    await sending.objects.call('customObjects.ack', { ref: 'hook', ids: [delivery] })
    await fail()
    expect((await sending.retrieve('hook')).receiver_state).toMatchObject({ status: 'active', pending: 0, dead: 0 })
    expect(sending.concerns).toEqual([])
  })
})
