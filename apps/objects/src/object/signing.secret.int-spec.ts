import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ownerCall } from '../../../../test/support/objects-service.js'
import { Sending } from '../send/sending.fixture.js'
import { verified, WebhookReceiver } from '../send/webhook.receiver.fixture.js'

let sending: Sending
let receiver: WebhookReceiver
beforeAll(async () => {
  sending = await Sending.start()
  receiver = await WebhookReceiver.start()
})
afterAll(async () => {
  const stopping = sending.stop()
  await receiver.close()
  await stopping
})

const rotate = (ref: string, overlap: number, idempotencyKey?: string) =>
  sending.objects.call(
    'objects.object.rotateSecret',
    { ref, overlap },
    ownerCall(idempotencyKey === undefined ? {} : { idempotencyKey }),
  )
/** Whether a delivery that is sent now is believed by who knows a secret. */
const believed = async (ref: string, secrets: readonly (string | null)[]): Promise<boolean[]> => {
  await sending.publish({})
  await sending.untilAcked(ref)
  const last = receiver.requests.findLast(({ path }) => path.endsWith(ref))
  if (!last) throw new Error('nothing came')
  return secrets.map((secret) => {
    try {
      return verified(last, secret ?? '') !== undefined
    } catch {
      return false
    }
  })
}

describe('a rotation whose answer is lost', () => {
  // The secret that its consumer has stopped at once, though it was promised to go on.
  it('is made up for by another one, while the secret that the consumer has goes on', async () => {
    const { secret: first } = await sending.hook('lost', `${receiver.url}/lost`)
    const second = (await rotate('lost', 60, 'lost-1')).signing_secret
    expect(await rotate('lost', 60, 'lost-1')).toEqual({ signing_secret: null })
    const third = (await rotate('lost', 86_400)).signing_secret
    expect(await believed('lost', [first, second, third])).toEqual([true, true, true])
  })
})

describe('a rotation without an overlap', () => {
  it('ends all that signed before', async () => {
    const { secret: first } = await sending.hook('ended', `${receiver.url}/ended`)
    const second = (await rotate('ended', 60)).signing_secret
    const third = (await rotate('ended', 0)).signing_secret
    expect(await believed('ended', [first, second, third])).toEqual([false, false, true])
  })
})
