import { describe, expect, it } from '@jest/globals'
import { Acknowledger } from './acknowledger.js'

describe('acknowledgements', () => {
  it('go out one after the other, those together that came meanwhile', async () => {
    const sent: (readonly string[])[] = []
    const answers: (() => void)[] = []
    const acknowledger = new Acknowledger(
      (ids) => {
        sent.push(ids)
        return new Promise<void>((resolve) => answers.push(resolve))
      },
      () => undefined,
    )
    for (const id of ['a', 'b', 'c']) await acknowledger.add(id)
    expect(sent).toEqual([['a']])
    answers[0]?.()
    await Promise.resolve()
    expect(sent).toEqual([['a'], ['b', 'c']])
    answers[1]?.()
    await acknowledger.done()
    await acknowledger.add('d')
    expect(sent.at(-1)).toEqual(['d'])
  })

  it('make whoever adds wait once a request is full, and lose none', async () => {
    const sent: (readonly string[])[] = []
    const first = Promise.withResolvers<void>()
    const acknowledger = new Acknowledger(
      async (ids) => {
        sent.push(ids)
        if (sent.length === 1) await first.promise
      },
      () => undefined,
    )
    let taken = 0
    const added = (async () => {
      for (; taken < 2500; taken++) await acknowledger.add(String(taken))
    })()
    for (let turn = 0; turn < 5000; turn++) await Promise.resolve()
    expect(taken).toBe(1000)
    first.resolve()
    await added
    await acknowledger.done()
    expect(Math.max(...sent.map(({ length }) => length))).toBe(1000)
    expect(sent.flat()).toEqual(Array.from({ length: 2500 }, (_, id) => String(id)))
  })

  it('end with the first failure, which is told at once and thrown at the end', async () => {
    const told: unknown[] = []
    const reason = new Error('no')
    const acknowledger = new Acknowledger(
      () => Promise.reject(reason),
      (error) => told.push(error),
    )
    await acknowledger.add('a')
    await expect(acknowledger.done()).rejects.toBe(reason)
    await acknowledger.add('b')
    await expect(acknowledger.done()).rejects.toBe(reason)
    expect(told).toEqual([reason])
  })
})
