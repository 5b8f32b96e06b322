import { describe, expect, it } from '@jest/globals'
import type { CronRecord } from '../cron/cron.record.js'
import { cronRow } from '../cron/cron.row.fixture.js'
import { type Consequences, consequencesOf, ended, type FireEnd, isEndOf } from './fire.outcome.js'
import { type FireRecord, newFire } from './fire.record.js'

const at = new Date('2026-03-01T00:10:00.000Z')
const line = (status: FireRecord['status'], more: Partial<FireRecord> = {}): FireRecord => ({
  ...newFire(cronRow(), { slot: at, due_at: at, trigger: 'schedule' }, at),
  status,
  ...more,
})

describe('the line of a firing that has ended', () => {
  const end = (more: Partial<FireEnd> = {}): FireEnd => ({
    cron_id: 'cron',
    slot: at,
    event: 'succeed',
    cause: null,
    ended_at: at,
    ...more,
  })

  it('is held by nobody, keeps that it was late, and when it was fired first', () => {
    const fire = line('running', { cause: 'late', fired_at: at, held_until: at })
    const later = new Date(at.getTime() + 5000)
    expect(ended(fire, end({ found: { fired_at: later } }), later)).toMatchObject({
      status: 'succeeded',
      cause: 'late',
      ledger: 'late',
      fired_at: at,
      held_until: null,
      noted_at: later,
    })
  })

  it('says why it did not go as planned', () => {
    const error = { code: 'auth', message: 'no' }
    const failed = ended(line('running'), end({ event: 'fail', cause: 'work_failed', found: { error } }), at)
    expect(failed).toMatchObject({ status: 'failed', cause: 'work_failed', ledger: 'failed', error })
    expect(ended(line('starting'), end({ event: 'miss', cause: 'window' }), at)).toMatchObject({
      status: 'missed',
      ledger: 'omitted',
    })
  })

  // A process that had stood still said that a firing was given up, while another had taken it and its work began.
  it('ends by the try that it is in, when nothing was begun', () => {
    const missed = end({ event: 'miss', cause: 'window', attempts: 2 })
    expect(isEndOf(missed, line('starting', { attempts: 2 }))).toBe(true)
    expect(isEndOf(missed, line('starting', { attempts: 3 }))).toBe(false)
    expect(isEndOf(missed, line('running', { attempts: 2 }))).toBe(false)
    expect(isEndOf(end(), line('running', { attempts: 3 }))).toBe(true)
  })

  it('has not ended twice', () => {
    expect(() => ended(line('succeeded'), end(), at)).toThrow(expect.objectContaining({ code: 'illegal_transition' }))
  })
})

describe('what becomes of a schedule', () => {
  const outcome = (
    cron: Partial<CronRecord>,
    statuses: readonly FireRecord['status'][],
    open: { begun?: number; queued?: number; asked?: number } = {},
    newest: FireRecord['status'] | undefined = statuses.at(-1),
  ): Consequences =>
    consequencesOf(
      cronRow(cron),
      statuses.map((status) => line(status)),
      { cron_id: 'cron', queued: 0, asked: 0, begun: statuses.length, late: 0, ...open },
      newest && line(newest),
    )
  const over = { next_slot: null, next_due: null }

  it('counts failures in a row, and what nobody saw end as one', () => {
    expect(outcome({}, ['failed', 'unknown']).changes).toMatchObject({ status: 'active', consecutive_failures: 2 })
    expect(outcome({ consecutive_failures: 2 }, ['succeeded']).changes).toMatchObject({ consecutive_failures: 0 })
    expect(outcome({ consecutive_failures: 2 }, ['canceled', 'missed']).changes).toBeNull()
    expect(outcome({}, ['succeeded']).changes).toBeNull()
  })

  it('pauses it when there are as many as it takes, and leaves out what waits but for what was asked for', () => {
    const gone = outcome({ consecutive_failures: 2 }, ['failed'], { begun: 1, queued: 3, asked: 1 })
    expect(gone).toMatchObject({
      changes: { status: 'paused', pause_reason: 'failures', consecutive_failures: 3 },
      drop: true,
      release: false,
    })
  })

  it('lets the next begin when nothing else goes on', () => {
    expect(outcome({}, ['succeeded'], { begun: 1, queued: 2 }).release).toBe(true)
    expect(outcome({}, ['succeeded'], { begun: 2, queued: 2 }).release).toBe(false)
    expect(outcome({}, ['succeeded']).release).toBe(false)
    expect(outcome({}, [], { begun: 0, queued: 1 }).release).toBe(true)
  })

  it('leaves out what waits of one that was paused meanwhile', () => {
    const paused = { status: 'paused', pause_reason: 'asked' } as const
    expect(outcome(paused, ['succeeded'], { begun: 1, queued: 2 })).toMatchObject({ drop: true, release: false })
    expect(outcome(paused, ['succeeded'], { begun: 1, queued: 1, asked: 1 })).toMatchObject({
      drop: false,
      release: true,
    })
  })

  it('is over when no slot is left and nothing goes on', () => {
    expect(outcome(over, ['succeeded']).changes).toMatchObject({ status: 'completed' })
    expect(outcome(over, ['failed']).changes).toMatchObject({ status: 'failed', consecutive_failures: 1 })
    expect(outcome(over, ['succeeded'], { begun: 2 }).changes).toBeNull()
    const paused = { ...over, status: 'paused', pause_reason: 'failures', consecutive_failures: 3 } as const
    expect(outcome(paused, ['failed']).changes).toMatchObject({ status: 'failed', pause_reason: null })
  })

  it('has failed when the newest slot that was fired did, whichever of them ended last, or when none was fired', () => {
    expect(outcome(over, ['failed'], {}, 'succeeded').changes).toMatchObject({ status: 'completed' })
    expect(outcome(over, ['succeeded'], {}, 'failed').changes).toMatchObject({ status: 'failed' })
    expect(outcome(over, [], {}, 'canceled').changes).toMatchObject({ status: 'completed' })
    expect(outcome(over, []).changes).toMatchObject({ status: 'failed', consecutive_failures: 0 })
  })

  it('does not change one that is over, whatever was fired by hand', () => {
    expect(outcome({ ...over, status: 'completed' }, ['failed']).changes).toMatchObject({ status: 'completed' })
    expect(outcome({ ...over, status: 'failed', consecutive_failures: 1 }, ['succeeded']).changes).toMatchObject({
      status: 'failed',
    })
  })

  it('is to go after its first success, where it was made so', () => {
    expect(outcome({ delete_after_run: true }, ['failed']).done).toBe(false)
    expect(outcome({ delete_after_run: true }, ['succeeded'], { begun: 1, queued: 4 })).toMatchObject({
      done: true,
      drop: false,
      release: false,
    })
  })
})
