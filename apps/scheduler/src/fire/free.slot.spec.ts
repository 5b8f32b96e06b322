import { describe, expect, it } from '@jest/globals'
import { cronRow } from '../cron/cron.row.fixture.js'
import { freeSlot } from './free.slot.js'

const at = (text: string): Date => new Date(`2026-03-01T00:00:${text}Z`)

describe('the slot of a firing by hand', () => {
  it('is now', () => {
    expect(freeSlot(cronRow(), at('05.123'), [])).toEqual(at('05.123'))
  })

  it('is never one that the schedule can have', () => {
    expect(freeSlot(cronRow(), at('05.000'), [])).toEqual(at('05.001'))
    expect(freeSlot(cronRow({ anchor_at: at('00.250') }), at('05.250'), [])).toEqual(at('05.251'))
    expect(freeSlot(cronRow({ start_at: at('00.250') }), at('05.250'), [])).toEqual(at('05.251'))
    const once = { at: at('05.300').toISOString() }
    expect(freeSlot(cronRow({ schedule: once }), at('05.300'), [])).toEqual(at('05.301'))
  })

  it('is never one that was fired already', () => {
    expect(freeSlot(cronRow(), at('05.123'), [at('05.123'), at('05.124')])).toEqual(at('05.125'))
  })
})
