import { describe, expect, it } from '@jest/globals'
import type { CronRecord } from '../cron/cron.record.js'
import { cronRow } from '../cron/cron.row.fixture.js'
import { newFire } from './fire.record.js'
import { type Decision, decisionOf, type Standing } from './slot.decision.js'

const minute = 60_000
const first = cronRow().next_slot as Date
const later = (ms: number): Date => new Date(first.getTime() + ms)

const standing = (more: Partial<Standing> = {}): Standing => ({
  open: { cron_id: 'cron', queued: 0, asked: 0, begun: 0, late: 0 },
  newest: undefined,
  now: first,
  holding: { attempts: 1, held_until: later(15_000) },
  ...more,
})
const open = (begun: number, queued = 0, late = 0): Standing['open'] => ({
  cron_id: 'cron',
  queued,
  asked: 0,
  begun,
  late,
})
const decide = (cron: Partial<CronRecord>, more: Partial<Standing>): Decision =>
  decisionOf(cronRow(cron), standing(more))
const fates = ({ fires }: Decision): unknown[] => fires.map(({ status, cause, slots }) => [status, cause, slots])

describe('a slot that is due', () => {
  it('begins, held by whoever decided, and the schedule moves on', () => {
    const { fires, move, growth } = decide({}, {})
    expect(fires).toMatchObject([
      {
        slot: first,
        due_at: first,
        status: 'starting',
        cause: null,
        attempts: 1,
        held_until: later(15_000),
        ledger: null,
      },
    ])
    expect(move).toMatchObject({ next_slot: later(10 * minute), next_due: later(10 * minute) })
    expect(growth).toBeNull()
  })

  it('is left out, started or put behind while another goes on, as the schedule says', () => {
    expect(fates(decide({ overlap: 'skip' }, { open: open(1) }))).toEqual([['skipped', 'overlap', 1]])
    expect(fates(decide({ overlap: 'skip' }, { open: open(0, 1) }))).toEqual([['skipped', 'overlap', 1]])
    expect(fates(decide({ overlap: 'allow' }, { open: open(3) }))).toEqual([['starting', null, 1]])
    expect(fates(decide({ overlap: 'queue' }, { open: open(1) }))).toEqual([['queued', null, 1]])
    expect(fates(decide({ overlap: 'queue' }, { open: open(1, 99) }))).toEqual([['queued', null, 1]])
    expect(fates(decide({ overlap: 'queue' }, { open: open(1, 100) }))).toEqual([['skipped', 'queue_full', 1]])
  })
})

describe('slots of an outage', () => {
  const now = later(45 * minute)

  it('are all made up for one after another with `all`, whatever `overlap` says, but side by side with `allow`', () => {
    for (const overlap of ['skip', 'queue'] as const)
      expect(fates(decide({ missed: 'all', overlap }, { now }))).toEqual([
        ['starting', 'late', 1],
        ...Array.from({ length: 4 }, () => ['queued', 'late', 1]),
      ])
    expect(fates(decide({ missed: 'all', overlap: 'allow' }, { now }))).toEqual(
      Array.from({ length: 5 }, () => ['starting', 'late', 1]),
    )
  })

  // It was left out for its own schedule's late ones, though all slots were wanted.
  it('that are all made up for have those on time wait behind them', () => {
    expect(fates(decide({ missed: 'all' }, { now: later(20 * minute) }))).toEqual([
      ['starting', 'late', 1],
      ['queued', 'late', 1],
      ['queued', null, 1],
    ])
    expect(fates(decide({ missed: 'all' }, { open: open(1, 3, 2) }))).toEqual([['queued', null, 1]])
    expect(fates(decide({ missed: 'all' }, { open: open(1) }))).toEqual([['skipped', 'overlap', 1]])
    expect(fates(decide({ missed: 'once' }, { open: open(1, 0, 1) }))).toEqual([['skipped', 'overlap', 1]])
  })

  it('have the newest made up for with `once`, unless work of the schedule goes on', () => {
    expect(fates(decide({}, { now }))).toEqual([
      ['coalesced', 'coalesced', 4],
      ['starting', 'late', 1],
    ])
    expect(fates(decide({}, { now, open: open(1) }))).toEqual([
      ['coalesced', 'coalesced', 4],
      ['skipped', 'overlap', 1],
    ])
  })

  it('of many years are one line of each fate, and every slot is in one', () => {
    const years = 12 * 365 * 24 * 60 * minute
    const { fires, move } = decide({ missed: 'skip' }, { now: later(years + minute) })
    expect(fates({ fires } as Decision)).toEqual([['missed', 'policy', years / (10 * minute) + 1]])
    expect(move.next_slot).toEqual(later(years + 10 * minute))
  })

  it('of more years than one decision takes are left to the next one', () => {
    const { move } = decide({ missed: 'skip' }, { now: later(40 * 365 * 24 * 60 * minute) })
    expect((move.next_due as Date).getTime()).toBeLessThan(later(40 * 365 * 24 * 60 * minute).getTime())
  })
})

describe('a line', () => {
  const paused = { status: 'paused', pause_reason: 'asked' } as const
  const before = {
    ...newFire(cronRow(), { slot: later(-10 * minute), due_at: later(-10 * minute), trigger: 'schedule' }, first),
  }

  it('grows while its schedule is paused', () => {
    const newest = { ...before, status: 'skipped', cause: 'paused' } as const
    const { fires, growth } = decide(paused, { newest, now: later(25 * minute) })
    expect(fires).toEqual([])
    expect(growth).toMatchObject({ slot: newest.slot, slots: 3, last_slot: later(20 * minute) })
  })

  it('begins anew behind anything else', () => {
    for (const newest of [
      { ...before, status: 'skipped', cause: 'overlap' } as const,
      { ...before, status: 'succeeded' } as const,
      { ...before, status: 'skipped', cause: 'paused', trigger: 'manual' } as const,
    ])
      expect(fates(decide(paused, { newest }))).toEqual([['skipped', 'paused', 1]])
  })
})

it('a schedule whose zone nobody knows is not decided about', () => {
  expect(() => decide({ schedule: { cron: '0 9 * * *', tz: 'Nowhere/Town' } }, {})).toThrow(
    expect.objectContaining({ code: 'timezone_unknown' }),
  )
})
