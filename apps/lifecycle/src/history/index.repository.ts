import { Injectable } from '@nestjs/common'
import type { JournalEntry, MailEntry } from '#common/contract/broker.schema.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { NewPassage } from './passage.js'

/** A node whose text is to be indexed, with how far that is. */
export interface IndexedNode {
  readonly id: string
  readonly root_id: string
  readonly app_id: string | null
  readonly kind: string
  readonly version: number
  readonly journal_ord: number
  readonly mail_seq: number
  readonly report_ord: number
  readonly event_seq: number
  readonly counted_ord: number
  /** Until where its journal is a copy, which is neither indexed nor counted again. */
  readonly copied_ord: number
  readonly turn_model: string | null
  /** Where the node itself is. */
  readonly head_ord: number
  readonly head_mail: number
  readonly head_event: number
}

export interface JournalText {
  readonly node_id: string
  readonly ord: number
  readonly turn: number
  readonly step: number | null
  readonly payload: JournalEntry
  readonly created_at: Date
}

export interface MailText {
  readonly node_id: string
  readonly seq: number
  readonly kind: string
  readonly body: string
  readonly source: MailEntry['source']
  readonly turn: number | null
  readonly created_at: Date
}

export interface ReportText {
  readonly node_id: string
  readonly ord: number
  readonly kind: string
  readonly body: string
  readonly created_at: Date
}

export interface UsageEvent {
  readonly node_id: string
  readonly seq: number
  readonly time: Date
  readonly data: {
    readonly model?: string
    readonly input_tokens?: number
    readonly output_tokens?: number
    readonly cached_tokens?: number
    readonly cost_usd?: number
  }
}

/** What a node did on one day with one model. */
export interface Deeds {
  readonly node: IndexedNode
  readonly day: string
  readonly model: string
  turns: number
  calls: number
  input: number
  output: number
  cached: number
  cost: number
}

/** Rows of each node and bytes of all together that one round takes; at least one row when there is any. */
const rowsEach = 60
const usagesEach = 500
const bytesInAll = 1024 * 1024

/** Rows of each node after its own position, until the round has enough bytes. */
const upTo = (columns: string, order: string, size: string, rows: string): string =>
  `SELECT ${columns} FROM (
     SELECT ${columns}, row_number() OVER page AS place, sum(${size}) OVER page AS bytes
       FROM unnest($1::text[], $2::bigint[]) AS wanted(wanted_id, wanted_from) CROSS JOIN LATERAL (${rows} LIMIT ${rowsEach}) AS found
     WINDOW page AS (ORDER BY node_id, ${order})) AS counted
    WHERE place = 1 OR bytes <= ${bytesInAll} ORDER BY node_id, ${order}`

const journalText = upTo(
  'node_id, ord, turn, step, payload, created_at',
  'ord',
  'octet_length(payload::text)',
  'SELECT * FROM canvas.journal j WHERE j.node_id = wanted_id AND j.ord > wanted_from ORDER BY j.ord',
)
const mailText = upTo(
  'node_id, seq, kind, body, source, turn, created_at',
  'seq',
  'octet_length(body)',
  'SELECT * FROM canvas.mail m WHERE m.node_id = wanted_id AND m.seq > wanted_from ORDER BY m.seq',
)
const reportText = upTo(
  'node_id, ord, kind, body, created_at',
  'ord',
  'octet_length(body)',
  'SELECT * FROM canvas.reports r WHERE r.node_id = wanted_id AND r.ord > wanted_from ORDER BY r.ord',
)

/** Rows of the index, and what it is made from. */
@Injectable()
export class IndexRepository {
  /** Those of the nodes that exist, kept from being deleted until the transaction ends. */
  async hold(tx: Tx, ids: readonly string[]): Promise<IndexedNode[]> {
    return tx.query<IndexedNode>(
      `SELECT n.id, n.root_id, n.app_id, n.kind, coalesce(h.version, 0) AS version,
              coalesce(h.journal_ord, 0) AS journal_ord, coalesce(h.mail_seq, 0) AS mail_seq,
              coalesce(h.report_ord, 0) AS report_ord, coalesce(h.event_seq, 0) AS event_seq,
              greatest(h.counted_ord, n.copied_ord) AS counted_ord, n.copied_ord, h.turn_model,
              c.journal_ord AS head_ord, c.mail_seq AS head_mail, c.event_seq AS head_event
         FROM canvas.nodes n JOIN canvas.counters c ON c.node_id = n.id
         LEFT JOIN canvas.history_heads h ON h.node_id = n.id
        WHERE n.id = ANY ($1::text[]) ORDER BY n.id FOR KEY SHARE OF n`,
      [ids],
    )
  }

  journal(reader: Reader, nodes: readonly IndexedNode[]): Promise<JournalText[]> {
    return reader.query(journalText, [ids(nodes), nodes.map((node) => node.journal_ord)])
  }

  mail(reader: Reader, nodes: readonly IndexedNode[]): Promise<MailText[]> {
    return reader.query(mailText, [ids(nodes), nodes.map((node) => node.mail_seq)])
  }

  reports(reader: Reader, nodes: readonly IndexedNode[]): Promise<ReportText[]> {
    return reader.query(reportText, [ids(nodes), nodes.map((node) => node.report_ord)])
  }

  /** Usage of each node up to where it was when it was held. */
  usage(reader: Reader, nodes: readonly IndexedNode[]): Promise<UsageEvent[]> {
    return reader.query(
      `SELECT found.* FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS wanted(id, after, head) CROSS JOIN LATERAL (
         SELECT e.node_id, e.seq, e.time, e.data FROM canvas.events e
          WHERE e.node_id = wanted.id AND e.seq > wanted.after AND e.seq <= wanted.head AND e.type = 'node.usage'
          ORDER BY e.seq LIMIT ${usagesEach}) AS found ORDER BY found.node_id, found.seq`,
      [ids(nodes), nodes.map((node) => node.event_seq), nodes.map((node) => node.head_event)],
    )
  }

  /** Whether usage of a node may have been left for the next round. */
  isFull(found: number): boolean {
    return found >= usagesEach
  }

  forget(tx: Tx, nodeIds: readonly string[]): void {
    if (nodeIds.length > 0) tx.send('DELETE FROM canvas.passages WHERE node_id = ANY ($1::text[])', [nodeIds])
  }

  insert(tx: Tx, passages: readonly NewPassage[], nodes: ReadonlyMap<string, IndexedNode>): void {
    if (passages.length === 0) return
    tx.send(
      `INSERT INTO canvas.passages (id, node_id, kind, ref, piece, line, turn, step, label, at, body, words)
       SELECT id, node_id, kind, ref, piece, line, turn, step, label, at, body,
              canvas.passage_words(id, node_id, root_id, app_id, kind, body)
         FROM (SELECT nextval('canvas.passages_id_seq') AS id, given.* FROM unnest($1::text[], $2::text[], $3::text[],
                 $4::text[], $5::bigint[], $6::int[], $7::int[], $8::int[], $9::int[], $10::text[], $11::timestamptz[],
                 $12::text[]) AS given(node_id, root_id, app_id, kind, ref, piece, line, turn, step, label, at, body)
               OFFSET 0) AS numbered`,
      [
        passages.map((one) => one.nodeId),
        passages.map((one) => nodes.get(one.nodeId)?.root_id),
        passages.map((one) => nodes.get(one.nodeId)?.app_id ?? null),
        passages.map((one) => one.kind),
        passages.map((one) => one.ref),
        passages.map((one) => one.piece),
        passages.map((one) => one.line),
        passages.map((one) => one.turn),
        passages.map((one) => one.step),
        passages.map((one) => one.label),
        passages.map((one) => one.at),
        passages.map((one) => one.body),
      ],
    )
  }

  add(tx: Tx, deeds: readonly Deeds[]): void {
    if (deeds.length === 0) return
    tx.send(
      `INSERT INTO canvas.activity (node_id, day, model, root_id, app_id, kind, turns, calls, input_tokens, output_tokens,
         cached_tokens, cost_usd)
       SELECT * FROM unnest($1::text[], $2::date[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
         $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::numeric[])
       ON CONFLICT (node_id, day, model) DO UPDATE SET turns = activity.turns + excluded.turns,
         calls = activity.calls + excluded.calls, input_tokens = activity.input_tokens + excluded.input_tokens,
         output_tokens = activity.output_tokens + excluded.output_tokens,
         cached_tokens = activity.cached_tokens + excluded.cached_tokens, cost_usd = activity.cost_usd + excluded.cost_usd`,
      [
        deeds.map(({ node }) => node.id),
        deeds.map(({ day }) => day),
        deeds.map(({ model }) => model),
        deeds.map(({ node }) => node.root_id),
        deeds.map(({ node }) => node.app_id),
        deeds.map(({ node }) => node.kind),
        deeds.map(({ turns }) => turns),
        deeds.map(({ calls }) => calls),
        deeds.map(({ input }) => input),
        deeds.map(({ output }) => output),
        deeds.map(({ cached }) => cached),
        deeds.map(({ cost }) => cost),
      ],
    )
  }

  /** Writes how far the nodes are now. */
  save(tx: Tx, nodes: readonly IndexedNode[]): void {
    tx.send(
      `INSERT INTO canvas.history_heads (node_id, version, journal_ord, mail_seq, report_ord, event_seq, counted_ord, turn_model)
       SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
       ON CONFLICT (node_id) DO UPDATE SET version = excluded.version, journal_ord = excluded.journal_ord,
         mail_seq = excluded.mail_seq, report_ord = excluded.report_ord, event_seq = excluded.event_seq,
         counted_ord = excluded.counted_ord, turn_model = excluded.turn_model`,
      [
        ids(nodes),
        nodes.map((node) => node.version),
        nodes.map((node) => node.journal_ord),
        nodes.map((node) => node.mail_seq),
        nodes.map((node) => node.report_ord),
        nodes.map((node) => node.event_seq),
        nodes.map((node) => node.counted_ord),
        nodes.map((node) => node.turn_model),
      ],
    )
  }

  /** Of the next nodes in the order of their ids those that the index is behind of; `last` is null after the end. */
  async behind(
    reader: Reader,
    after: string,
    version: number,
    limit: number,
  ): Promise<{ ids: string[]; last: string | null }> {
    const [row] = await reader.query<{ ids: string[] | null; last: string | null }>(
      `SELECT max(id) AS last, array_agg(id) FILTER (WHERE behind) AS ids FROM (
         SELECT c.node_id AS id, h.node_id IS NULL OR h.version <> $2 OR h.event_seq < c.event_seq
                  OR h.journal_ord < c.journal_ord OR h.mail_seq < c.mail_seq AS behind
           FROM canvas.counters c LEFT JOIN canvas.history_heads h ON h.node_id = c.node_id
          WHERE c.node_id > $1 ORDER BY c.node_id LIMIT $3) AS page`,
      [after, version, limit],
    )
    return { ids: row?.ids ?? [], last: row?.last ?? null }
  }
}

const ids = (nodes: readonly IndexedNode[]): string[] => nodes.map((node) => node.id)
