import { describe, expect, it } from '@jest/globals'
import { take, waitFor } from './wait-for.js'

describe('waitFor', () => {
  it('answers with the state as soon as it is there', async () => {
    let looks = 0

    expect(await waitFor(() => (++looks === 3 ? 'there' : undefined), { interval: 1 })).toBe('there')
  })

  it('tells what it saw last, and the error that kept it', async () => {
    const look = () => {
      throw new Error('refused')
    }

    await expect(waitFor(look, { timeout: 5, interval: 1, what: 'the server' })).rejects.toMatchObject({
      message: expect.stringContaining('the server did not come within 5 ms'),
      cause: new Error('refused'),
    })
  })
})

describe('take', () => {
  async function* count(upTo = Number.POSITIVE_INFINITY) {
    for (let n = 1; n <= upTo; n += 1) yield n
  }

  it('takes as many as asked, or up to the one that was waited for', async () => {
    expect(await take(count(), 3)).toEqual([1, 2, 3])
    expect(await take(count(), (n) => n === 2)).toEqual([1, 2])
  })

  it('fails with what came when the stream ends early or falls silent', async () => {
    const silent: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
    }

    await expect(take(count(2), 3)).rejects.toThrow('ended after 2 items: [1,2]')
    await expect(take(silent, 1, { timeout: 5 })).rejects.toThrow('gave 0 items')
  })
})
