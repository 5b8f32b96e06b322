import { describe, expect, it, jest } from '@jest/globals'
import type { Clock } from '../clock.js'
import { Heartbeat } from './heartbeat.js'

/** A clock that moves when told to, and runs one timer. */
const handClock = () => {
  let time = 0
  let due: { at: number; callback: () => void } | undefined
  const clock: Clock = {
    now: () => time,
    monotonic: () => time,
    after: (ms, callback) => {
      due = { at: time + ms, callback }
      return () => {
        due = undefined
      }
    },
  }
  /** The timer that is due by then runs at its time; `late` lets all that time pass before it does. */
  const move = (ms: number, late = false): void => {
    const until = time + ms
    if (late) time = until
    while (due && due.at <= until) {
      const { at, callback } = due
      due = undefined
      time = late ? until : at
      callback()
    }
    time = until
  }
  return { clock, move }
}

const start = () => {
  const { clock, move } = handClock()
  const side = { beat: jest.fn(), silent: jest.fn() }
  const heartbeat = new Heartbeat(clock, { beat: 5000, silence: 15_000 }, side)
  return { heartbeat, side, move }
}

describe('Heartbeat', () => {
  it('beats every 5 s', () => {
    const { side, move, heartbeat } = start()
    move(5000)
    heartbeat.heard()
    move(5000)
    expect(side.beat).toHaveBeenCalledTimes(2)
  })

  it('notices 15 s of silence', () => {
    const { side, move } = start()
    move(14_999)
    expect(side.silent).not.toHaveBeenCalled()
    move(1)
    expect(side.silent).toHaveBeenCalled()
  })

  it('hears nothing wrong while the other side is heard', () => {
    const { heartbeat, side, move } = start()
    for (let n = 0; n < 10; n += 1) {
      move(5000)
      heartbeat.heard()
    }
    expect(side.silent).not.toHaveBeenCalled()
  })

  it("doesn't take a stall of its own process for the other's silence", () => {
    const { side, move } = start()
    move(60_000, true)
    expect(side.silent).not.toHaveBeenCalled()
    move(15_000)
    expect(side.silent).toHaveBeenCalled()
  })

  it('is still after stop', () => {
    const { heartbeat, side, move } = start()
    heartbeat.stop()
    move(60_000)
    expect(side.beat).not.toHaveBeenCalled()
  })
})
