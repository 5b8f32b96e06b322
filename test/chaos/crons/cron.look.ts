import type { LedgerEntry } from '#common/contract/index.js'
import type { AdminConnection } from '#common/testing/admin-connection.js'
import type { Client } from '#sdk/index.js'
import { must } from '../stage.js'
import type { ArmedCron } from './cron.cast.js'
import { cronViolations, type Effects, hasGone } from './cron.checks.js'
import { type FireLine, readLines } from './cron.lines.js'

/** What doesn't hold of these schedules, which have come to rest, and their lines. */
export const lookAtCrons = async (
  database: AdminConnection,
  crons: readonly ArmedCron[],
): Promise<{ lines: FireLine[]; violations: string[] }> => {
  const lines = await readLines(
    database,
    crons.flatMap(({ id }) => id ?? []),
  )
  const tags = crons.map(({ plan }) => plan.tag)
  const nodes = await database.rows<{ name: string; id: string; status: string }>(
    'SELECT name, id, status FROM canvas.nodes WHERE name = ANY ($1)',
    [tags],
  )
  const mails = await database.rows<{ body: string; count: number }>(
    'SELECT body, count(*)::int AS count FROM canvas.mail WHERE body = ANY ($1) GROUP BY body',
    [tags],
  )
  const kept = await database.rows<{ name: string; id: string; status: string }>(
    'SELECT name, id, status FROM scheduler.crons WHERE name = ANY ($1)',
    [tags],
  )
  const violations = crons.flatMap((cron) => {
    const { tag } = cron.plan
    const effects: Effects = {
      nodes: nodes.filter(({ name }) => name === tag),
      messages: mails.find(({ body }) => body === tag)?.count ?? 0,
    }
    const own = lines.filter(({ cron_id }) => cron_id === cron.id)
    const rows = kept.filter(({ name }) => name === tag)
    return [...record(cron, own, rows), ...(cron.id === null ? [] : cronViolations(cron, own, effects))]
  })
  return { lines, violations }
}

/** That it is there once, in the status that its last work gave it, or not there at all. */
const record = (
  { plan, id, deleted }: ArmedCron,
  lines: readonly FireLine[],
  rows: readonly { id: string; status: string }[],
): string[] => {
  const { tag, course } = plan
  if (id === null) return must(rows.length === 0, `${tag} was refused, but ${JSON.stringify(rows)} is there`)
  if (deleted || hasGone({ plan }, lines))
    return must(rows.length === 0, `${tag} has gone, but ${JSON.stringify(rows)} is there`)
  if (rows.length !== 1 || rows[0]?.id !== id) return [`${tag} is ${JSON.stringify(rows)} instead of ${id}`]
  if (course !== 'once') return []
  const last = lines.filter(({ fired }) => fired).at(-1)
  const wanted = last && !['failed', 'unknown'].includes(last.status) ? 'completed' : 'failed'
  return must(
    rows[0].status === wanted,
    `${tag} is ${rows[0].status} after ${JSON.stringify(last?.status ?? 'nothing')}`,
  )
}

interface Told {
  readonly id: string
  readonly last_fire: { readonly slot: string; readonly status: string } | null
}

/** What the API tells otherwise than the lines: of the newest firing of each schedule, and of all that is in the ledger. */
export const lookAtAnswers = async (
  client: Client,
  database: AdminConnection,
  crons: readonly ArmedCron[],
): Promise<string[]> => [...(await lastFires(client, database, crons)), ...(await ledger(client, database))]

const lastFires = async (client: Client, database: AdminConnection, crons: readonly ArmedCron[]): Promise<string[]> => {
  const lines = await readLines(
    database,
    crons.flatMap(({ id }) => id ?? []),
  )
  const told = new Map<string, Told>()
  for await (const cron of pagesOf<Told>(client, '/v1/crons')) told.set(cron.id, cron)
  return crons.flatMap(({ id, plan }) => {
    const cron = id === null ? undefined : told.get(id)
    if (!cron) return []
    const newest = lines.filter(({ cron_id, fired }) => cron_id === id && fired).at(-1)
    const [wanted, is] = [newest, cron.last_fire].map((fire) => fire && `${fire.slot} ${fire.status}`)
    return must(
      (wanted ?? null) === (is ?? null),
      `${plan.tag} tells of ${is} as its newest firing, which is ${wanted}`,
    )
  })
}

const ledger = async (client: Client, database: AdminConnection): Promise<string[]> => {
  const rows = await database.rows<{ text: string }>(
    `SELECT cron_id || ' ' || (extract(epoch FROM slot) * 1000)::bigint AS text FROM scheduler.fires WHERE ledger IS NOT NULL`,
  )
  const told: string[] = []
  for await (const { cron_id, planned_at } of pagesOf<LedgerEntry>(client, '/v1/ledger?kind=slot'))
    told.push(`${cron_id} ${Date.parse(planned_at)}`)
  const there = new Set(told)
  const known = new Set(rows.map(({ text }) => text))
  const missing = [...known].filter((text) => !there.has(text))
  const strange = told.filter((text) => !known.has(text))
  return must(
    missing.length + strange.length === 0 && there.size === told.length,
    `the ledger lacks ${missing.slice(0, 5)}, has ${strange.slice(0, 5)} of nothing, and ${told.length - there.size} twice`,
  )
}

async function* pagesOf<T>(client: Client, path: string): AsyncGenerator<T> {
  for (let after = ''; ; ) {
    const url = `${path}${path.includes('?') ? '&' : '?'}limit=200${after}`
    const page = await client.request<{ data: T[]; next_cursor: string | null; absent?: string[] }>('GET', url)
    if (page.absent?.length) throw new Error(`${path} is without ${page.absent}`)
    yield* page.data
    if (page.next_cursor === null) return
    after = `&after=${encodeURIComponent(page.next_cursor)}`
  }
}
