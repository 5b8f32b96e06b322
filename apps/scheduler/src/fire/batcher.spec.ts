import { describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import { SvcError } from '#common/kernel/errors.js'
import { Batcher } from './batcher.js'

const silent = pino({ level: 'silent' })

/** Batches that ran, each until it is let go. */
const stage = (size = 10) => {
  const batches: string[][] = []
  const goes: (() => void)[] = []
  const batcher = new Batcher<string>({
    keyOf: (item) => item,
    size,
    failure: 'failed',
    log: silent,
    run: (items) => {
      batches.push(items)
      return new Promise((resolve, reject) =>
        goes.push(() => (items.includes('bad') ? reject(new Error('no')) : resolve())),
      )
    },
  })
  const go = async (): Promise<void> => {
    goes.shift()?.()
    await new Promise(setImmediate)
  }
  return { batcher, batches, go }
}

describe('a batcher', () => {
  it('takes what comes in one turn together, and what comes meanwhile next, each once', async () => {
    const { batcher, batches, go } = stage()
    batcher.add(['a'])
    batcher.add(['b', 'a'])
    await go()
    expect(batches).toEqual([['a', 'b']])
    batcher.add(['c'])
    batcher.add(['d', 'c'])
    await go()
    await go()
    expect(batches.flat()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('takes no more at once than it may', async () => {
    const { batcher, batches, go } = stage(2)
    batcher.add(['a', 'b', 'c'])
    await go()
    await go()
    await go()
    expect(batches).toEqual([['a', 'b'], ['c']])
  })

  it('goes on after a batch that failed', async () => {
    const { batcher, batches, go } = stage(1)
    batcher.add(['bad', 'good'])
    await go()
    await go()
    await go()
    expect(batches).toEqual([['bad'], ['good']])
  })

  it('runs the others of a batch that one of them made fail', async () => {
    const { batcher, batches, go } = stage()
    batcher.add(['a', 'bad', 'b', 'c', 'd'])
    for (const _ of [1, 2, 3, 4, 5, 6, 7]) await go()
    expect(batches).toEqual([
      ['a', 'bad', 'b', 'c', 'd'],
      ['a', 'bad', 'b'],
      ['a', 'bad'],
      ['a'],
      ['bad'],
      ['b'],
      ['c', 'd'],
    ])
  })

  it('asks a database that is away once for a batch', async () => {
    const ran: string[][] = []
    const batcher = new Batcher<string>({
      keyOf: (item) => item,
      size: 10,
      failure: 'failed',
      log: silent,
      run: async (items) => {
        ran.push(items)
        throw new SvcError('service_unavailable')
      },
    })
    batcher.add(['a', 'b'])
    await batcher.settled()
    expect(ran).toEqual([['a', 'b']])
  })

  it('takes no more when it is closed, and ends with what waits', async () => {
    const { batcher, batches, go } = stage(1)
    batcher.add(['a', 'b'])
    const closed = batcher.close()
    batcher.add(['c'])
    await go()
    await go()
    await go()
    await closed
    expect(batches).toEqual([['a'], ['b']])
  })
})
