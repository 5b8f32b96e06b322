import type { CronCreate } from '#common/contract/cron.schema.js'
import type { Bounds } from '../schedule/schedule.js'

const moment = (time: string | undefined): number | null => (time === undefined ? null : Date.parse(time))

/** Between which moments a schedule has slots that is made now (ms). */
export const boundsOf = ({ start_at, end_at }: Pick<CronCreate, 'start_at' | 'end_at'>, now: number): Bounds => ({
  anchorAt: now,
  startAt: moment(start_at),
  endAt: moment(end_at),
})
