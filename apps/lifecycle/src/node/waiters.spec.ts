import { describe, expect, it } from '@jest/globals'
import { Waiters } from './waiters.js'

const never = new AbortController().signal
const settled = async (promise: Promise<void>): Promise<boolean> => {
  let done = false
  void promise.then(() => {
    done = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  return done
}

describe('who waits for a node', () => {
  it('is woken with everybody else who waits for it, and nobody who waits for another', async () => {
    const waiters = new Waiters()
    const [one, two, other] = [waiters.next('a', never), waiters.next('a', never), waiters.next('b', never)]
    waiters.wake('a')
    expect([await settled(one), await settled(two), await settled(other)]).toEqual([true, true, false])
  })

  it('is woken once: what comes before the next wait is not kept', async () => {
    const waiters = new Waiters()
    waiters.wake('a')
    expect(await settled(waiters.next('a', never))).toBe(false)
  })

  it('goes when its signal fires, at once when it has fired, and is forgotten', async () => {
    const waiters = new Waiters()
    const left = new AbortController()
    const waiting = waiters.next('a', left.signal)
    left.abort()
    expect(await settled(waiting)).toBe(true)
    expect(await settled(waiters.next('a', left.signal))).toBe(true)
    expect((waiters as unknown as { waiting: Map<string, unknown> }).waiting.size).toBe(0)
  })

  it('learns that this process is not the writer any more, until it is again', () => {
    const waiters = new Waiters()
    const before = waiters.over
    waiters.close()
    expect(before.aborted).toBe(true)
    waiters.open()
    expect(waiters.over.aborted).toBe(false)
  })
})
