import { describe, expect, it } from '@jest/globals'
import type { Clock } from '#common/kernel/clock.js'
import { orphanedFor, TurnJob } from './turn.job.js'

/** A clock whose timers fire by hand. */
const handClock = () => {
  const timers = new Map<() => void, number>()
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after: (ms, callback) => {
      timers.set(callback, ms)
      return () => timers.delete(callback)
    },
  }
  const fire = (): void => {
    for (const callback of [...timers.keys()]) callback()
    timers.clear()
  }
  return { clock, fire, waits: () => [...timers.values()] }
}

describe('a call that nobody follows', () => {
  it('is given up after two minutes', () => {
    const { clock, fire, waits } = handClock()
    const job = new TurnJob(clock)
    expect(waits()).toEqual([120_000])
    expect(orphanedFor).toBe(120_000)
    fire()
    expect(job.signal.aborted).toBe(true)
    expect(job.signal.reason).toMatchObject({ code: 'client_closed' })
  })

  it('is kept for as long as somebody follows it, and two minutes more', async () => {
    const { clock, waits } = handClock()
    const job = new TurnJob(clock)
    const leaving = new AbortController()
    const reading = job.follow(leaving.signal)[Symbol.asyncIterator]()
    const next = reading.next()
    expect(waits()).toEqual([])
    leaving.abort()
    await expect(next).rejects.toMatchObject({ code: 'client_closed' })
    expect(waits()).toEqual([120_000])
    expect(job.signal.aborted).toBe(false)
  })

  it('is not waited for any more when it has ended', async () => {
    const { clock, waits } = handClock()
    const job = new TurnJob(clock)
    const reading = job.follow(new AbortController().signal)[Symbol.asyncIterator]()
    const next = reading.next()
    job.buffer.finish()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(waits()).toEqual([])
  })
})
