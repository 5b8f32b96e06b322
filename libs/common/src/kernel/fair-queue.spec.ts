import { describe, expect, it } from '@jest/globals'
import { FairQueue } from './fair-queue.js'

describe('a fair queue', () => {
  it('is taken from by turns, and in order of each', () => {
    const queue = new FairQueue<string>(10, 10)
    for (const thing of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) expect(queue.add(thing.slice(0, 1), thing)).toBe(true)
    const taken = Array.from({ length: 7 }, () => queue.take())
    expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
  })

  it('gives the turn to another when one comes, though the first had waited alone', () => {
    const queue = new FairQueue<string>(10, 10)
    queue.add('a', 'a1')
    expect(queue.take()).toBe('a1')
    for (const thing of ['a2', 'a3', 'b1']) queue.add(thing.slice(0, 1), thing)
    expect([queue.take(), queue.take(), queue.take()]).toEqual(['b1', 'a2', 'a3'])
  })

  it('has room for so many of one, and for so many at all', () => {
    const queue = new FairQueue<number>(3, 2)
    const added = [
      ['a', 1],
      ['a', 2],
      ['a', 3],
      ['b', 1],
      ['b', 2],
    ].map(([whose, thing]) => queue.add(whose as string, thing as number))
    expect(added).toEqual([true, true, false, true, false])
    expect([queue.take(), queue.add('b', 3)]).toEqual([1, true])
  })
})
