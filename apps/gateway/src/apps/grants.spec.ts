import { expect, it } from '@jest/globals'
import type { Clock } from '#common/kernel/clock.js'
import type { TrustListener, TrustTail } from '../trust/trust.tail.js'
import type { GrantRecord } from './grant.record.js'
import type { GrantRepository } from './grant.repository.js'
import { Grants } from './grants.js'

const record: GrantRecord = {
  appId: 'app_1',
  scopes: ['svc:llm'],
  profiles: null,
  version: 1,
  status: 'active',
  updatedAt: 0,
}

it('a grant that was read is believed while the database hangs, until its change is told', async () => {
  let now = 0
  let hangs = false
  let tell: TrustListener = () => undefined
  const timers: (() => void)[] = []
  const after = (_ms: number, callback: () => void) => {
    timers.push(callback)
    return () => undefined
  }
  const find = async () => (hangs ? new Promise<never>(() => undefined) : record)
  const tail = {
    listen: (listener: TrustListener) => {
      tell = listener
    },
  }
  const grants = new Grants(
    { find } as unknown as GrantRepository,
    tail as unknown as TrustTail,
    { now: () => now, monotonic: () => now, after } as Clock,
  )
  grants.onModuleInit()
  const held = await grants.of('app_1')

  hangs = true
  now = 60_000
  const asked = grants.of('app_1')
  for (const pass of timers) pass()
  expect(await asked).toBe(held)
  expect(grants.of('app_1')).toBe(held)

  now = 120_000
  const answers: unknown[] = []
  void Promise.resolve(grants.of('app_1')).then((answer) => answers.push(answer))
  tell({ apps: ['app_1'] })
  for (const pass of timers) pass()
  await new Promise(setImmediate)
  expect(answers).toEqual([])
})
