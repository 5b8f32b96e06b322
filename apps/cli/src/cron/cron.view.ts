import type { Cron, CronActionInput, CronCreate, CronSchedule, CronTime } from '#sdk/index.js'
import { ago, ahead } from '../clock.js'
import { brief, facts, oneLine, table } from '../output/table.js'
import { durationText } from './duration.js'
import { fireText, lastOutput } from './fire.text.js'
import { machineZone, readableTime } from './zoned.time.js'

/** The zone whose clocks a schedule goes by, or where it has none, that of the reader. */
export const zoneOfSchedule = (schedule: CronCreate['schedule'], reader = machineZone()): string =>
  'cron' in schedule ? (schedule.tz ?? 'UTC') : reader

/** When it fires, in a few words. */
export const scheduleText = (schedule: CronSchedule): string => {
  if ('cron' in schedule) return `${schedule.cron} (${schedule.tz})`
  return 'every' in schedule ? `every ${durationText(schedule.every)}` : `once at ${schedule.at}`
}

/** What each firing does, in one line. */
export const actionText = (action: CronActionInput): string => {
  switch (action.type) {
    case 'message':
      return `send ${action.node_id} a message: ${brief(action.body, 80)}`
    case 'create_node': {
      const { exec, prompt, cwd } = action
      const work = exec ? `run ${brief(exec.argv.join(' '), 80)}` : brief(prompt, 80)
      return `create a node${cwd === undefined ? '' : ` in ${cwd}`}: ${work}`
    }
    case 'bash':
      return `run in ${action.cwd}: ${brief(action.command, 80)}`
    case 'publish':
      return `publish ${action.event} of ${action.ref}: ${brief(JSON.stringify(action.payload), 80)}`
    default:
      return action.type
  }
}

/** Times in a zone and in UTC; when each really fires, where some wait a little. */
export const timesText = (times: readonly CronTime[], zone: string): string => {
  const waits = times.some(({ slot, due_at }) => slot !== due_at)
  return table(
    [zone, 'UTC', 'IN', ...(waits ? ['FIRES'] : [])],
    times.map(({ slot, due_at }) => [
      readableTime(slot, zone),
      shortTime(slot),
      ahead(slot),
      ...(waits ? [`${(Date.parse(due_at) - Date.parse(slot)) / 1000}s later`] : []),
    ]),
  )
}

/** A time of the daemon to the second. */
export const shortTime = (time: string): string => time.replace(/\.\d+Z$/, 'Z')

export const cronTable = (crons: readonly Cron[]): string =>
  table(
    ['ID', 'STATUS', 'NEXT', 'LAST', 'WHEN', 'NAME'],
    crons.map((cron) => [
      cron.id,
      cron.pause_reason === 'failures' ? 'paused (failures)' : cron.status,
      cron.next_fire_at ? `in ${ahead(cron.next_fire_at)}` : '-',
      cron.last_fire ? `${cron.last_fire.status} ${ago(cron.last_fire.due_at)} ago` : '-',
      scheduleText(cron.schedule),
      brief(cron.name, 40),
    ]),
  )

const policies = {
  skip: 'left out',
  once: 'made up for by one firing',
  all: 'all made up for, the newest 100',
} as const

const overlapping = {
  allow: 'another is started beside it',
  skip: 'the slot is left out',
  queue: 'the slot waits for its end',
} as const

/** Everything about one schedule, and why it is as it is. */
export const cronText = (cron: Cron): string => {
  const { schedule, next_fire_at, last_fire } = cron
  const zone = zoneOfSchedule(schedule)
  const text = facts([
    ['id', cron.id],
    ['name', oneLine(cron.name)],
    ['status', statusText(cron)],
    ['when', scheduleText(schedule)],
    ['does', oneLine(actionText(cron.action))],
    [
      'next',
      next_fire_at && `${readableTime(next_fire_at, zone)}, in ${ahead(next_fire_at)} (${shortTime(next_fire_at)})`,
    ],
    ['last', last_fire && oneLine(fireText(last_fire))],
    ['not before', cron.start_at],
    ['not after', cron.end_at],
    [
      'missed slots',
      cron.missed === 'skip'
        ? policies.skip
        : `${policies[cron.missed]}, up to ${durationText(cron.catchup_window_s)} late`,
    ],
    ['while at work', overlapping[cron.overlap]],
    ['jitter', cron.jitter_s ? `up to ${durationText(cron.jitter_s)} later` : null],
    ['failures', `${cron.consecutive_failures} in a row, ${cron.max_failures} pause it`],
    ['after success', cron.delete_after_run ? 'it is deleted' : null],
    ['node', cron.owner_node_id],
    ['app', cron.app_id],
    ['made by', madeBy(cron)],
    ['created', `${cron.created_at} (${ago(cron.created_at)} ago)`],
    ['updated', `${cron.updated_at} (${ago(cron.updated_at)} ago), version ${cron.version}`],
  ])
  const output = last_fire && lastOutput(last_fire)
  return output ? `${text}\n\nthe end of what it wrote:\n${output}` : text
}

const madeBy = ({ created_by: { kind, id } }: Cron): string => (id === null ? kind : `${kind} ${id}`)

const statusText = ({ id, status, pause_reason, consecutive_failures, last_fire }: Cron): string => {
  switch (status) {
    case 'active':
      return 'active'
    case 'paused':
      return pause_reason === 'failures'
        ? `paused by itself, since it failed ${consecutive_failures} times in a row: svc cron history ${id} says how, svc cron resume ${id} goes on`
        : `paused: svc cron resume ${id} goes on`
    case 'completed':
      return 'completed: no slot is left'
    case 'failed':
      return last_fire
        ? 'failed: no slot is left, and the last one that was fired failed'
        : 'failed: no slot is left, and none was fired'
  }
}
