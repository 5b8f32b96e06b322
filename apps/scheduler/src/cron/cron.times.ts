import type { CronSchedule } from '#common/contract/cron.schema.js'
import type { contract, InputOf, OutputOf } from '#common/contract/index.js'
import { type Clock, isoTime } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { localTime, zoneNameOf } from '../schedule/local.time.js'
import { requireSchedule } from '../schedule/schedule.check.js'
import { dueOf, slotsOfCron } from '../schedule/slot.plan.js'
import type { Slots } from '../schedule/slots.js'
import { requireSeen } from './cron.access.js'
import { boundsOf } from './cron.bounds.js'
import type { CronRepository } from './cron.repository.js'

type Times = OutputOf<(typeof contract)['crons.next']>

const timesOf = (
  slots: Slots,
  schedule: CronSchedule,
  from: { now: number; count: number },
  due: (slot: number) => number,
): Times => {
  const data: Times['data'] = []
  for (let slot = slots.next(from.now); slot !== null && data.length < from.count; slot = slots.next(slot)) {
    data.push({ slot: isoTime(slot), local: localTime(slot, zoneNameOf(schedule)), due_at: isoTime(due(slot)) })
  }
  return { data }
}

/** When schedules fire, those that are armed and those that somebody thinks of. */
export class CronTimes {
  constructor(
    private readonly database: Database,
    private readonly crons: CronRepository,
    private readonly clock: Clock,
  ) {}

  /** Of one that is paused: if it were resumed now. @throws SvcError not_found */
  async next(ctx: Context, input: InputOf<(typeof contract)['crons.next']>): Promise<Times> {
    const cron = requireSeen(ctx, input.id, await this.crons.find(this.database, input.id), input)
    const from = { now: this.clock.now(), count: input.count }
    return timesOf(slotsOfCron(cron), cron.schedule, from, (slot) => dueOf(cron, slot))
  }

  /** @throws SvcError validation_failed, schedule_impossible, schedule_too_frequent, schedule_past, timezone_unknown */
  async preview({ schedule, start_at, end_at, count }: InputOf<(typeof contract)['crons.preview']>): Promise<Times> {
    const now = this.clock.now()
    const slots = requireSchedule(schedule, boundsOf({ start_at, end_at }, now), now)
    return timesOf(slots, schedule, { now, count }, (slot) => slot)
  }
}
