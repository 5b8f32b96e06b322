import { Injectable } from '@nestjs/common'
import type { PassageKind } from '#common/contract/history.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { Horizon } from '../canvas/horizon.js'

/** Which passages are meant. */
export interface Scope {
  readonly horizon: Horizon
  readonly kinds?: readonly PassageKind[] | undefined
}

export interface PassageRow {
  readonly id: number
  readonly node_id: string
  readonly node_name: string
  readonly kind: PassageKind
  readonly ref: number
  readonly line: number
  readonly turn: number | null
  readonly step: number | null
  readonly label: string | null
  readonly at: Date
}

export interface HitRow extends PassageRow {
  readonly rank: number
  readonly found: number
  readonly body: string
  /** The text as words are taken from it, with those that were found between U+0002 and U+0003. */
  readonly headline: string
}

export interface Figures {
  readonly key: string | null
  readonly nodes: number
  readonly turns: number
  readonly calls: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_tokens: number
  readonly cost_usd: number
}

/** Passages that are ranked for one search. */
export const ranked = 500
/** Passages of one look of a grep. */
export const looked = 200
const fewNodes = 50

const headlineOptions = `'HighlightAll=true, StartSel="' || chr(2) || '", StopSel="' || chr(3) || '"'`
const shown = `p.id, p.node_id, n.name AS node_name, p.kind, p.ref, p.line, p.turn, p.step, p.label, p.at`

/** Marks of a scope, as one condition on the words of a passage; each is text that only this daemon makes. */
const markQuery = ({ horizon, kinds }: Scope, put: (value: unknown) => string): string | null => {
  const marks = [
    ...(horizon.appId === undefined ? [] : [`canvas.mark_query('a', ${put(horizon.appId)})`]),
    ...(horizon.rootId === undefined ? [] : [`canvas.mark_query('r', ${put(horizon.rootId)})`]),
    ...(horizon.ids?.length === 1 ? [`canvas.mark_query('n', ${put(horizon.ids[0])})`] : []),
    ...(kinds === undefined ? [] : [`canvas.mark_any('k', ${put(kinds)}::text[])`]),
  ]
  return marks.length === 0 ? null : marks.join(' && ')
}

/** The same as conditions that no other index is taken for. */
const ofScope = ({ appId, rootId }: Horizon, kinds: Scope['kinds'], put: (value: unknown) => string): string[] => [
  ...(appId === undefined && rootId === undefined
    ? []
    : [
        `EXISTS (SELECT 1 FROM canvas.nodes o WHERE o.id = p.node_id || ''${appId === undefined ? '' : ` AND o.app_id = ${put(appId)}`}${rootId === undefined ? '' : ` AND o.root_id = ${put(rootId)}`})`,
      ]),
  ...(kinds === undefined ? [] : [`p.kind = ANY (${put(kinds)}::text[])`]),
]

const groupKeys = { day: "to_char(a.day, 'YYYY-MM-DD')", model: "nullif(a.model, '')", app: 'a.app_id', kind: 'a.kind' }

/** Reads of the index of history. */
@Injectable()
export class HistoryRepository {
  #hasTrigrams: Promise<boolean> | undefined

  /** What a query comes to: `empty` when no word of it must occur. */
  async parse(reader: Reader, query: string): Promise<'empty' | 'usable'> {
    const [row] = await reader.query<{ tree: string }>('SELECT querytree(canvas.wanted($1)) AS tree', [query])
    return row === undefined || row.tree === '' || row.tree === 'T' ? 'empty' : 'usable'
  }

  /** The id after the newest passage. */
  async head(reader: Reader): Promise<number> {
    const [row] = await reader.query<{ id: number }>('SELECT id FROM canvas.passages ORDER BY id DESC LIMIT 1')
    return (row?.id ?? 0) + 1
  }

  search(
    reader: Reader,
    wanted: {
      query: string
      scope: Scope
      below: number
      after?: { rank: number; id: number } | undefined
      limit: number
    },
  ): Promise<HitRow[]> {
    const values: unknown[] = [wanted.query, wanted.scope.horizon.ids ?? null, wanted.below]
    const put = (value: unknown): string => `$${values.push(value)}`
    const scope = markQuery(wanted.scope, put) ?? 'NULL::tsquery'
    const after =
      wanted.after && `WHERE (rank::float8, id) < (${put(wanted.after.rank)}::float8, ${put(wanted.after.id)})`
    return reader.query<HitRow>(
      `WITH wanted AS MATERIALIZED (SELECT canvas.wanted($1) AS query),
       found AS MATERIALIZED (
         SELECT f.* FROM wanted, canvas.search_passages(wanted.query, ${scope}, $2::text[], $3::bigint, ${ranked}) AS f),
       page AS MATERIALIZED (SELECT * FROM found ${after ?? ''} ORDER BY rank DESC, id DESC LIMIT ${put(wanted.limit)})
       SELECT ${shown}, page.rank::float8 AS rank, (SELECT count(*) FROM found) AS found,
              p.body,
              ts_headline('english', canvas.plain(p.body), wanted.query, ${headlineOptions}) AS headline
         FROM page JOIN canvas.passages p ON p.id = page.id JOIN canvas.nodes n ON n.id = p.node_id, wanted
        ORDER BY page.rank DESC, page.id DESC`,
      values,
    )
  }

  /**
   * The newest passages of a block of ids, below one of them, that may hold what is looked for. `shift` says how many ids
   * the block has: 2 to that power, one of those that passages are marked with.
   */
  async look(
    reader: Reader,
    at: { scope: Scope; literals: readonly string[]; shift: number; block: number; below: number },
  ): Promise<(PassageRow & { body: string })[]> {
    const values: unknown[] = [at.block, at.below]
    const put = (value: unknown): string => `$${values.push(value)}`
    const { horizon, kinds } = at.scope
    const { ids } = horizon
    // few nodes have few passages; of many, the parts of words tell most
    const trigrams = at.literals.length > 0 && !(ids && ids.length <= fewNodes) && (await this.hasTrigrams(reader))
    const marks = trigrams ? null : markQuery(at.scope, put)
    const conditions = [
      ...(trigrams
        ? [`(p.id >> ${at.shift}) = $1`, ...ofScope(horizon, kinds, put)]
        : [
            `p.words @@ (canvas.mark_query(${put(`${at.shift}:`)}, $1::bigint::text)${marks === null ? '' : ` && ${marks}`})`,
          ]),
      'p.id + 0 < $2',
      ...(ids === undefined ? [] : [`p.node_id || '' = ANY (${put(ids)}::text[])`]),
      ...(at.literals.length === 0
        ? []
        : [`(${at.literals.map((literal) => `p.body ILIKE ${put(pattern(literal))}`).join(' OR ')})`]),
    ]
    return reader.query(
      `SELECT ${shown}, p.body FROM (SELECT * FROM canvas.passages p WHERE ${conditions.join(' AND ')}
          ORDER BY p.id + 0 DESC LIMIT ${looked}) p JOIN canvas.nodes n ON n.id = p.node_id ORDER BY p.id DESC`,
      values,
    )
  }

  async stats(
    reader: Reader,
    wanted: {
      horizon: Horizon
      since?: string | undefined
      until?: string | undefined
      by?: keyof typeof groupKeys | undefined
      limit: number
    },
  ): Promise<Figures[]> {
    const values: unknown[] = []
    const put = (value: unknown): string => `$${values.push(value)}`
    const { horizon, since, until, by } = wanted
    const conditions = [
      `a.day >= ${put(since?.slice(0, 10) ?? '0001-01-01')}::date`,
      ...(until === undefined ? [] : [`a.day <= ${put(until.slice(0, 10))}::date`]),
      ...(horizon.appId === undefined ? [] : [`a.app_id = ${put(horizon.appId)}`]),
      ...(horizon.rootId === undefined ? [] : [`a.root_id = ${put(horizon.rootId)}`]),
      ...(horizon.ids === undefined ? [] : [`a.node_id = ANY (${put(horizon.ids)}::text[])`]),
    ]
    return reader.query<Figures>(
      `SELECT ${by ? groupKeys[by] : 'NULL'} AS key, count(DISTINCT a.node_id) AS nodes, coalesce(sum(a.turns), 0) AS turns,
              coalesce(sum(a.calls), 0) AS calls, coalesce(sum(a.input_tokens), 0) AS input_tokens,
              coalesce(sum(a.output_tokens), 0) AS output_tokens, coalesce(sum(a.cached_tokens), 0) AS cached_tokens,
              coalesce(sum(a.cost_usd), 0) AS cost_usd
         FROM canvas.activity a WHERE ${conditions.join(' AND ')}
        ${by ? `GROUP BY 1 ORDER BY ${by === 'day' ? '1 DESC' : 'cost_usd DESC, turns DESC, 1'}` : ''} LIMIT ${put(wanted.limit)}`,
      values,
    )
  }

  /** Position of the first journal entry of a turn, or of a later one; null when there is none. */
  async turnStart(reader: Reader, nodeId: string, turn: number): Promise<number | null> {
    const [row] = await reader.query<{ ord: number }>(
      'SELECT ord FROM canvas.journal WHERE node_id = $1 AND turn >= $2 ORDER BY ord LIMIT 1',
      [nodeId, turn],
    )
    return row?.ord ?? null
  }

  /** Whether there is an entry at this position or after it, of a turn up to `to`. */
  async goesOn(reader: Reader, nodeId: string, from: number, to: number): Promise<boolean> {
    const [row] = await reader.query<{ turn: number }>(
      'SELECT turn FROM canvas.journal WHERE node_id = $1 AND ord >= $2 ORDER BY ord LIMIT 1',
      [nodeId, from],
    )
    return row !== undefined && row.turn <= to
  }

  /** Whether the database could make the index of parts of words; asked once. */
  private hasTrigrams(reader: Reader): Promise<boolean> {
    this.#hasTrigrams ??= reader
      .query<{ there: boolean }>("SELECT to_regclass('canvas.passages_trigrams_idx') IS NOT NULL AS there")
      .then(
        ([row]) => row?.there === true,
        (error: unknown) => {
          this.#hasTrigrams = undefined
          throw error
        },
      )
    return this.#hasTrigrams
  }
}

const pattern = (literal: string): string => `%${literal.replace(/[\\%_]/g, '\\$&')}%`
