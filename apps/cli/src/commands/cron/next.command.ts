import type { Command } from 'commander'
import type { Client, CronsNextResponse, CronsPreviewBody } from '#sdk/index.js'
import { timesText, zoneOfSchedule } from '../../cron/cron.view.js'
import { UsageError } from '../../failure.js'
import { countNumber } from '../../input.js'
import { command, type Invocation, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'
import { addScheduleFlags, hasSchedule, type ScheduleFlags, timesOf, zoneOf } from './schedule.flags.js'

interface NextOptions extends ScheduleFlags {
  readonly count: number
}

export const registerNext = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'next [id]', {
    calls: ['crons.next'],
    mayCall: ['crons.retrieve', 'crons.preview'],
    summary: 'The next times of a schedule, or of one that you only think of, in its zone and in UTC',
    examples: [
      ['svc cron next <id> -n 5', 'the next five'],
      ['svc cron next --cron "30 2 * * *" --tz Europe/Berlin -n 3 --start 2030-03-29', 'before anything is armed'],
    ],
  }).option('-n, --count <number>', 'how many, 1 to 100', countNumber, 10)
  addScheduleFlags(made)
  performs<NextOptions>(made, shell, async (call, id) => {
    const asked = hasSchedule(call.options)
    if (asked === (id !== undefined)) {
      throw new UsageError(
        asked
          ? 'the times are those of a schedule that is there, or of --cron and the like, not of both'
          : 'whose times is missing',
        'svc cron next <id>, or svc cron next --cron "0 9 * * 1-5"',
      )
    }
    const client = await call.client()
    if (id === undefined) await preview(call, client)
    else await ofOne(call, client, id)
  })
}

const preview = async ({ out, json, options }: Invocation<NextOptions>, client: Client): Promise<void> => {
  const body: CronsPreviewBody = { ...timesOf(options), count: options.count }
  const times = await client.request<CronsNextResponse>('POST', '/v1/crons/preview', body)
  if (json) return out.json(times)
  out.line(timesText(times.data, zoneOfSchedule(body.schedule, zoneOf(options))))
}

const ofOne = async ({ out, json, options }: Invocation<NextOptions>, client: Client, id: string): Promise<void> => {
  const path = `/v1/crons/${encodeURIComponent(id)}/next?count=${options.count}`
  if (json) return out.json(await client.request<CronsNextResponse>('GET', path))
  const cron = await client.crons.retrieve(id)
  const { data } = await client.request<CronsNextResponse>('GET', path)
  if (data.length) out.line(timesText(data, zoneOfSchedule(cron.schedule, zoneOf(options))))
  else out.note(`no slot is left: it is ${cron.status}`)
  if (data.length && cron.status === 'paused') out.note('it is paused: these are its times if it goes on now')
}
