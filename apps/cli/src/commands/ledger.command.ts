import type { Command } from 'commander'
import type { Client, LedgerEntry, LedgerListResponse } from '#sdk/index.js'
import { PageList } from '#sdk/page.js'
import { given } from '../canvas/given.js'
import { lasting, timeOf } from '../clock.js'
import { shortTime } from '../cron/cron.view.js'
import { UsageError } from '../failure.js'
import { wholeNumber } from '../input.js'
import { command, performs } from '../invocation.js'
import { type PagedOptions, printPaged, queryOf } from '../output/paged.js'
import { brief, table } from '../output/table.js'
import type { Shell } from '../shell.js'

interface LedgerOptions extends PagedOptions {
  readonly kind?: string
  readonly state?: string
  readonly node?: string
  readonly cron?: string
  readonly app?: string
  readonly object?: string
  readonly since?: string
}

export const registerLedger = (program: Command, shell: Shell): void => {
  const made = command(program, 'ledger', {
    calls: ['ledger.list'],
    mayCall: ['customObjects.retrieve'],
    summary: 'What did not happen as planned: why, how late, and the command that does it now',
    about: `Slots of schedules, launches and resumes of nodes, answers to questions, deliveries of events: those that failed or
wait for a paused receiver, and publications that were refused. A state is one of waiting (it has still to happen), late,
failed, unknown (how it ended was not seen) and omitted (it will not happen by itself).`,
    examples: [
      ['svc ledger --since 1d', 'of the last day'],
      ['svc ledger --state failed --kind slot', 'schedules whose work failed'],
    ],
  })
    .option('--kind <kind>', 'slot, launch, resume, answer or delivery')
    .option('--state <state>', 'waiting, late, failed, unknown or omitted')
    .option('--node <id>', 'about this node')
    .option('--cron <id>', 'about this schedule')
    .option('--app <id>', 'about this application')
    .option('--object <ref>', 'about this object, by its name or its id')
    .option('--since <time>', 'known since this time, or so long ago: 10m, 2h, 1d')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<LedgerOptions>(made, shell, async (call) => {
    const fields = queryFields(call.options)
    const client = await call.client()
    const asked = { ...fields, ...(await aboutObject(client, call.options.object)) }
    const absent = new Set<string>()
    const list = new PageList<LedgerEntry>(async (after) => {
      const page = await client.request<LedgerListResponse>('GET', `/v1/ledger${queryOf(asked, after)}`)
      for (const service of page.absent ?? []) absent.add(service)
      return page
    })
    await printPaged(call, list, ledgerTable)
    if (absent.size) call.out.note(`${[...absent].join(' and ')} did not answer: what they know is missing here`)
  })
}

const queryFields = (options: LedgerOptions): Record<string, string | number> => {
  const { node, cron, app, since } = options
  const from = since === undefined ? undefined : timeOf(since)
  if (since !== undefined && from === undefined) {
    throw new UsageError(`${since} is no time`, 'say 10m, 2h, 1d (ago), or a time like 2030-01-31T12:00:00Z')
  }
  return {
    ...given(options, 'kind', 'state', 'after', 'limit'),
    ...(node !== undefined && { node_id: node }),
    ...(cron !== undefined && { cron_id: cron }),
    ...(app !== undefined && { app_id: app }),
    ...(from !== undefined && { since: from }),
  }
}

/** The ledger knows objects by their ids. */
const aboutObject = async ({ customObjects }: Client, object: string | undefined): Promise<{ object_id?: string }> => {
  if (object === undefined) return {}
  return { object_id: /^obj_\w{26}$/.test(object) ? object : (await customObjects.retrieve(object)).id }
}

const ledgerTable = (entries: readonly LedgerEntry[]): string =>
  table(
    ['PLANNED', 'KIND', 'STATE', 'LATE', 'WHAT', 'DO IT NOW', 'WHY'],
    entries.map((entry) => [
      shortTime(entry.planned_at),
      entry.kind,
      entry.state,
      entry.lateness_ms === null ? '-' : lasting(entry.lateness_ms),
      whatText(entry),
      entry.action?.command ?? '-',
      brief(entry.message, 160),
    ]),
  )

/** What it is about; one entry may stand for a run of slots, for several deliveries, or for publications that were refused. */
const whatText = ({ kind, state, name, request_id, node_id, cron_id, object_id, count }: LedgerEntry): string => {
  const what = brief(name ?? request_id ?? node_id ?? cron_id ?? object_id ?? '-', 32)
  const many = kind !== 'delivery' ? 'slots' : state === 'omitted' ? 'publications' : 'deliveries'
  return count === 1 ? what : `${what} (${count} ${many})`
}
