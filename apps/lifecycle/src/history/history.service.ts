import { Injectable } from '@nestjs/common'
import type { HistoryEntry, SearchHit } from '#common/contract/history.schema.js'
import { contract, type InputOf, type JournalRecord, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { JournalRepository } from '../broker/journal.repository.js'
import { Horizons } from '../canvas/horizon.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { textsOf } from './entry.text.js'
import { HistoryIndexer } from './history.indexer.js'
import { type Figures, HistoryRepository, type HitRow, ranked } from './history.repository.js'
import { snippetOf } from './snippet.js'

const search = contract['canvas.history.search']
const read = contract['canvas.history.read']
const stats = contract['canvas.history.stats']

const mostGroups = 1000

/** What nodes said and did. */
@Injectable()
export class HistoryService {
  constructor(
    private readonly database: Database,
    private readonly history: HistoryRepository,
    private readonly journal: JournalRepository,
    private readonly nodes: NodeRepository,
    private readonly access: NodeAccess,
    private readonly horizons: Horizons,
    private readonly indexer: HistoryIndexer,
  ) {}

  /** @throws SvcError not_found, validation_failed (no word that must occur, a foreign cursor) */
  async search(ctx: Context, input: InputOf<typeof search>): Promise<OutputOf<typeof search>> {
    const indexing = this.indexer.isBehind
    const from = readCursor(input.after)
    const [horizon, head, parsed] = await Promise.all([
      this.horizons.ofPast(ctx, this.database, input.under),
      from ? from.below : this.history.head(this.database),
      this.history.parse(this.database, input.query),
    ])
    if (parsed === 'empty') refuse('/query', 'must hold a word that is to occur; "the" and the like say nothing')
    const rows = await this.history.search(this.database, {
      query: input.query,
      scope: { horizon, kinds: input.kinds },
      below: head,
      after: from,
      limit: input.limit + 1,
    })
    const page = rows.slice(0, input.limit)
    const last = page.at(-1)
    return {
      hits: page.map(hitOf),
      next_cursor: rows.length > input.limit && last ? cursorOf(head, last) : null,
      complete: (rows[0]?.found ?? 0) < ranked,
      indexing,
    }
  }

  /** @throws SvcError not_found, validation_failed */
  async read(ctx: Context, input: InputOf<typeof read>): Promise<OutputOf<typeof read>> {
    const node = await this.nodes.get(this.database, input.node)
    await this.access.requireOwn(ctx, this.database, node)
    const { from = 1, to = Number.MAX_SAFE_INTEGER } = input
    const start =
      input.after === undefined ? await this.history.turnStart(this.database, node.id, from) : ord(input.after)
    if (start === null) return { data: [], next_cursor: null, has_more: false }
    const records = await this.journal.page(this.database, node.id, start)
    const data: HistoryEntry[] = []
    let next: number | null = records.length > 0 ? (records.at(-1)?.ord ?? start) + 1 : null
    for (const record of records) {
      if (record.entry.turn > to) {
        next = null
        break
      }
      if (data.length >= input.limit) {
        next = record.ord
        break
      }
      data.push(...entriesOf(record))
    }
    const more = next !== null && (await this.history.goesOn(this.database, node.id, next, to))
    return { data, next_cursor: more ? String(next) : null, has_more: more }
  }

  /** @throws SvcError not_found, validation_failed */
  async stats(ctx: Context, input: InputOf<typeof stats>): Promise<OutputOf<typeof stats>> {
    if (input.since && input.until && input.since > input.until) refuse('/until', 'must not be before since')
    const horizon = await this.horizons.ofPast(ctx, this.database, input.under)
    const asked = { horizon, since: input.since, until: input.until }
    const [totals, groups] = await Promise.all([
      this.history.stats(this.database, { ...asked, limit: 1 }),
      input.by ? this.history.stats(this.database, { ...asked, by: input.by, limit: mostGroups + 1 }) : [],
    ])
    const { key: _, ...total } = totals[0] as Figures
    return { total, groups: groups.slice(0, mostGroups), truncated: groups.length > mostGroups }
  }
}

const refuse = (pointer: string, message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })
}

/** A journal entry as a person reads it; an image is named, since it can't be read. */
const entriesOf = ({ ord: ref, entry, created_at: at }: JournalRecord): HistoryEntry[] => {
  const about = { ref, turn: entry.turn, step: 'step' in entry ? entry.step : null, at }
  const texts = textsOf(entry).map(({ kind, label, text }) => ({ ...about, kind, label, text }))
  if (entry.type === 'turn_ended')
    return [{ ...about, kind: 'turn', label: entry.status, text: entry.fault?.message ?? '' }]
  return texts
}

const hitOf = (row: HitRow): SearchHit => ({
  node_id: row.node_id,
  node_name: row.node_name,
  kind: row.kind,
  turn: row.turn,
  step: row.step,
  label: row.label,
  ref: row.ref,
  at: row.at.toISOString(),
  line: row.line,
  score: row.rank,
  ...snippetOf(row.body, row.headline),
})

/** A search goes on among the passages that it began with: what is written meanwhile moves nothing. */
const cursorOf = (below: number, { rank, id }: HitRow): string =>
  Buffer.from(`${below}.${id}.${rank}`).toString('base64url')

const readCursor = (cursor: string | undefined): { below: number; id: number; rank: number } | undefined => {
  if (cursor === undefined) return undefined
  const match = /^(\d{1,16})\.(\d{1,16})\.(\d(?:\.\d+)?(?:e-\d+)?)$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) return refuse('/after', 'must be the next_cursor of an earlier page')
  return { below: Number(match[1]), id: Number(match[2]), rank: Number(match[3]) }
}

const ord = (cursor: string): number =>
  /^\d{1,15}$/.test(cursor) ? Number(cursor) : refuse('/after', 'must be the next_cursor of an earlier page')
