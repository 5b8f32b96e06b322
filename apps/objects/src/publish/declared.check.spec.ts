import { afterAll, describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import { othersHadTheirTurn, systemClock } from '#common/kernel/clock.js'
import { SchemaThread } from '#common/kernel/schema/schema.thread.js'
import { requireDeclared } from './declared.check.js'
import { givenEvents } from './given.event.js'
import type { KnownObject } from './object.catalogs.js'
import { PayloadCheck } from './payload.check.js'

const thread = new SchemaThread(systemClock, pino({ level: 'silent' }))
afterAll(() => thread.close())

const known = (schema: Record<string, unknown>): KnownObject => ({
  id: 'obj_1',
  name: 'sensor',
  app_id: null,
  version: 1,
  checks: new Map([['measured', new PayloadCheck(schema, thread, 'obj_1')]]),
  size: 1,
})

describe('a batch', () => {
  it('lets others have their turn between its events, however long they take to check', async () => {
    const choices = Array.from({ length: 1000 }, (_, n) => n)
    const payload = Array.from({ length: 1000 }, () => 999)
    const events = givenEvents(
      Array.from({ length: 100 }, () => ({ event: 'measured', payload })),
      () => '',
    )
    let isOver = false
    const checked = requireDeclared(known({ items: { enum: choices } }), events).finally(() => {
      isOver = true
    })
    let turns = 0
    for (; !isOver; turns += 1) await othersHadTheirTurn()
    await checked
    expect(turns).toBeGreaterThanOrEqual(5)
  })
})
