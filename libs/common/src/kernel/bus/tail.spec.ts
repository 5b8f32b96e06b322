import { describe, expect, it, jest } from '@jest/globals'
import { Tail, type TailMessage } from './tail.js'

const follow = (onOverflow = (): void => undefined, stop = (): void => undefined) => {
  let hand: (message: TailMessage<number>) => void = () => undefined
  const tail = new Tail<number>((given) => {
    hand = given
    return stop
  }, onOverflow)
  return { tail, send: (payload: number) => hand({ subject: 's', payload }) }
}

describe('Tail', () => {
  it('hands out messages in order, whether they came before the reader or after', async () => {
    const { tail, send } = follow()
    send(1)
    const first = await tail.next()
    const second = tail.next()
    send(2)
    expect([first.value?.payload, (await second).value?.payload]).toEqual([1, 2])
  })

  it('drops the oldest for a reader that is too slow, says so once and counts', async () => {
    const onOverflow = jest.fn()
    const { tail, send } = follow(onOverflow)
    for (let n = 0; n < 1027; n += 1) send(n)
    expect((await tail.next()).value?.payload).toBe(3)
    expect(tail.dropped).toBe(3)
    expect(onOverflow).toHaveBeenCalledTimes(1)
  })

  it('ends its subscription and a waiting reader when it is left', async () => {
    const stop = jest.fn()
    const { tail } = follow(undefined, stop)
    const waiting = tail.next()
    await tail.return()
    expect(await waiting).toEqual({ value: undefined, done: true })
    expect(stop).toHaveBeenCalledTimes(1)
  })
})
