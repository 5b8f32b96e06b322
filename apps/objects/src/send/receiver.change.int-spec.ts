import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Receiver } from '#common/contract/object.schema.js'
import { waitFor } from '#common/testing/wait-for.js'
import { Sending } from './sending.fixture.js'
import { answers, WebhookReceiver } from './webhook.receiver.fixture.js'

let sending: Sending
let [receiver, other] = [] as unknown as [WebhookReceiver, WebhookReceiver]
beforeEach(async () => {
  sending = await Sending.start()
  receiver = await WebhookReceiver.start()
  other = await WebhookReceiver.start()
})
afterEach(async () => {
  const stopping = sending.stop()
  await receiver.close()
  await other.close()
  await stopping
})

const update = (ref: string, changed: object) =>
  sending.objects.call('customObjects.update', { ref, receiver: changed, force: false })
const elsewhere = () => ({ type: 'url', url: other.url, allow_private: true })
const failed = async (ref: string): Promise<number> => (await sending.retrieve(ref)).receiver_state?.failed ?? 0

/** A paused receiver with one delivery, of which these tries were in vain. */
const inVain = async (given: Partial<Receiver>, state: 'failed' | 'dead'): Promise<void> => {
  const { id } = await sending.register('sent', given)
  await sending.objects.call('customObjects.pause', { ref: 'sent' })
  await sending.publish(1)
  await sending.objects.database.query(
    `INSERT INTO objects.failures VALUES ($1, 1, $2, 7, CASE $2 WHEN 'failed' THEN now() + interval '1 day' END, 'no', now(), now())`,
    [id, state],
  )
}

describe('a receiver that is at another address', () => {
  // what the former one had asked for, up to a day, was held against the new one
  it('is sent all that waits at once, however long the former one asked to be left alone', async () => {
    receiver.answer = answers.status(503, '', { 'retry-after': '86400' })
    await sending.hook('hook', receiver.url)
    await sending.publish(...Array.from({ length: 20 }, (_, n) => n))
    // so many in a row that nothing is sent for a while
    await waitFor(async () => (await failed('hook')) === 8)
    const changed = await update('hook', elsewhere())
    expect(changed.receiver_state).toMatchObject({ pending: 20, failed: 0 })
    await sending.untilAcked('hook')
    expect(other.requests).toHaveLength(20)
    expect(receiver.requests).toHaveLength(8)
  })

  it('has as many tries as any other', async () => {
    receiver.answer = answers.status(500, 'here')
    other.answer = answers.status(500, 'there')
    await sending.hook('hook', receiver.url)
    await sending.publish(1)
    await sending.until('hook', { attempt: 1, state: 'failed' })
    await update('hook', elsewhere())
    await sending.until('hook', { attempt: 1, state: 'failed', last_error: 'The receiver answered 500: there' })
  })
})

const url: Partial<Receiver> = { type: 'url', url: 'https://example.com/in', allow_private: false }
const argv: Partial<Receiver> = { type: 'argv', argv: ['true'], cwd: '/', env: { A: '1' } }

describe('what was tried in vain', () => {
  it.each<[string, Partial<Receiver>, object]>([
    ['an address', url, { url: 'https://example.com/other' }],
    ['leave for private addresses', url, { allow_private: true }],
    ['arguments', argv, { argv: ['true', 'x'] }],
    ['a directory', argv, { cwd: '/tmp' }],
    ['an environment', argv, { env: { A: '2' } }],
    ['no environment', argv, { env: undefined }],
  ])('is as if it had never been tried after a change to %s', async (_, given, change) => {
    await inVain(given, 'failed')
    await update('sent', { ...given, ...change })
    expect(await sending.deliveries('sent')).toMatchObject([
      { state: 'pending', attempt: 0, next_attempt_at: null, last_error: null },
    ])
  })

  it('for good is sent to the new address too, once a receiver that is paused is resumed', async () => {
    await inVain({ type: 'url', url: receiver.url, allow_private: true }, 'dead')
    expect((await update('sent', elsewhere())).receiver_state).toMatchObject({ status: 'paused', pending: 1, dead: 0 })
    await sending.objects.call('customObjects.resume', { ref: 'sent' })
    await sending.untilAcked('sent')
    expect(other.requests).toHaveLength(1)
  })

  it('stays so when only how many may wait is changed', async () => {
    await inVain(url, 'failed')
    const before = await sending.deliveries('sent')
    await update('sent', { ...url, max_pending: 7 })
    expect(before).toMatchObject([{ state: 'failed', attempt: 7 }])
    expect(await sending.deliveries('sent')).toEqual(before)
  })
})

describe('another number of deliveries that may wait', () => {
  it('leaves a receiver alone that rests after many failures', async () => {
    receiver.answer = answers.status(503)
    const { id } = await sending.hook('hook', receiver.url)
    await sending.publish(...Array.from({ length: 20 }, (_, n) => n))
    const resting = await waitFor(async () => {
      const hold = await sending.hold(id)
      return hold.holder === null && hold.held_until !== null && hold
    })
    const hook = { type: 'url', url: receiver.url, allow_private: true }
    expect((await update('hook', { ...hook, max_pending: 50 })).receiver).toMatchObject({ max_pending: 50 })
    expect(await sending.hold(id)).toEqual(resting)
  })

  it('has the answer to what is on its way counted', async () => {
    let answer = (): void => undefined
    receiver.answer = (response) => {
      answer = () => response.writeHead(204).end()
    }
    await sending.hook('hook', receiver.url)
    await sending.publish(1)
    await waitFor(() => receiver.requests.length === 1)
    await update('hook', { type: 'url', url: receiver.url, allow_private: true, max_pending: 50 })
    answer()
    await sending.untilAcked('hook')
    expect(receiver.requests).toHaveLength(1)
  })
})
