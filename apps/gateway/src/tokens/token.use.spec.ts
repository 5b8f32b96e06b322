import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Clock } from '#common/kernel/clock.js'
import { createLogger } from '#common/kernel/log.js'
import type { TokenRepository } from './token.repository.js'
import { TokenUse } from './token.use.js'

const minute = 60_000

let now: number
let written: Record<string, number>[]
let isAway: boolean
let due: (() => void) | undefined
let uses: TokenUse

beforeEach(() => {
  now = 10 * minute + 5000
  written = []
  isAway = false
  due = undefined
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    after: (_ms, callback) => {
      due = callback
      return () => {
        due = undefined
      }
    },
  }
  const repository = {
    used: async (times: ReadonlyMap<string, number>) => {
      if (isAway) throw new Error('no database')
      written.push(Object.fromEntries(times))
    },
  } as unknown as TokenRepository
  uses = new TokenUse(repository, clock, createLogger('test', 'silent'))
})

describe('the last use of tokens', () => {
  it('is written for all together, and once a minute for each', async () => {
    for (const id of ['a', 'b', 'a', 'a']) uses.note(id)
    expect(written).toEqual([])
    await uses.flush()
    uses.note('a')
    uses.note('c')
    await uses.flush()
    now += minute
    uses.note('a')
    await uses.flush()
    expect(written).toEqual([{ a: 10 * minute, b: 10 * minute }, { c: 10 * minute }, { a: 11 * minute }])
  })

  it('is written by itself soon after the first', async () => {
    uses.note('a')
    due?.()
    await uses.flush()
    expect(written).toEqual([{ a: 10 * minute }])
  })

  it('waits for a database that is away, and the later time wins', async () => {
    uses.note('a')
    uses.note('b')
    isAway = true
    await uses.flush()
    expect(due).toBeDefined()
    now += minute
    uses.note('a')
    isAway = false
    await uses.flush()
    expect(written).toEqual([{ a: 11 * minute, b: 10 * minute }])
  })
})
