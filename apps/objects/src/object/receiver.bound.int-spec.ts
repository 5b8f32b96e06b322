import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { hasCode } from '#common/kernel/errors.js'
import { ObjectsUnderTest } from '../../../../test/support/objects-service.js'

let objects: ObjectsUnderTest
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
})
afterAll(() => objects?.stop())

let names = 0
const register = async (more: object): Promise<string> => {
  const body = { name: `object-${++names}`, app_id: null, ...more }
  return (await objects.call('objects.object.register', body)).id
}

/** A queue that so many events wait in, and how its source fares. */
const queueWith = async (waiting: number, max_pending: number) => {
  const source = await register({ catalog: [{ event: 'e' }] })
  const queue = await register({ receiver: { type: 'queue', max_pending }, watches: [{ source }] })
  const events = Array.from({ length: waiting }, () => ({ event: 'e', payload: 1 }))
  await objects.call('customObjects.publishBatch', { ref: source, events })
  const bound = (max_pending: number) =>
    objects.call('customObjects.update', { ref: queue, receiver: { type: 'queue', max_pending } })
  const isTaken = () =>
    objects.call('customObjects.publish', { ref: source, event: 'e', payload: 1 }).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'queue_full')) return false
        throw error
      },
    )
  return { bound, isTaken }
}

// One more came in where four too many were waiting already.
it('a receiver that is to hold no more than it holds takes nothing from then on', async () => {
  const { bound, isTaken } = await queueWith(5, 100)
  await bound(5)
  expect(await isTaken()).toBe(false)
  await bound(1)
  expect(await isTaken()).toBe(false)
})

it('a full receiver that may hold more takes what there is room for at once', async () => {
  const { bound, isTaken } = await queueWith(19, 19)
  expect(await isTaken()).toBe(false)
  await bound(20)
  expect([await isTaken(), await isTaken()]).toEqual([true, false])
})
