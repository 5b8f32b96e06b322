import { Injectable } from '@nestjs/common'
import type { EventRow } from '#common/kernel/database/events.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { EventPosition } from './event.position.js'

/** Whose events are read; all of them when nothing is set. */
export interface EventView {
  readonly appId?: string | undefined
  readonly profile?: string | undefined
  readonly rootId?: string | undefined
  /** Part of a tree: a node and all below it, as they are at the moment of reading. */
  readonly topId?: string | undefined
  readonly types?: readonly string[] | undefined
}

interface Facts {
  /** The database's own name for the order of its transactions. */
  readonly line: string
  /** Whether that name was given in this database, and not copied into it. */
  readonly same: boolean
  /** The oldest transaction at work: all before it are known whole. */
  readonly horizon: string
  /** No transaction has had this number yet. */
  readonly beyond: string
}

export interface EventScan extends Facts {
  /** Whether events of younger transactions are there, which an older one at work holds up. */
  readonly pending: boolean
  readonly scanned: number
  /** The last event that was looked at, shown or not. */
  readonly last: EventPosition | undefined
  readonly rows: readonly (EventRow & { readonly xid: string })[]
}

type Row = EventRow &
  Facts & {
    readonly pending: boolean
    readonly scanned: number
    readonly last_xid: string | null
    readonly last_root: string
    readonly last_seq: number
    readonly xid: string
  }

const FACTS = `l.id AS line, l.made_in::xid = l.xmin AS same, pg_snapshot_xmin(pg_current_snapshot())::text AS horizon,
  pg_snapshot_xmax(pg_current_snapshot())::text AS beyond`

const conditionsOf = (view: EventView, put: (value: unknown) => string): string[] => [
  ...(view.types ? [`e.type = ANY (${put(view.types)}::text[])`] : []),
  ...(view.rootId ? [`e.root_id = ${put(view.rootId)}`] : []),
  ...(view.topId ? ['e.node_id IN (SELECT id FROM below)'] : []),
  ...(view.appId === undefined
    ? []
    : [`EXISTS (SELECT 1 FROM canvas.nodes n WHERE n.id = e.node_id AND n.app_id = ${put(view.appId)})`]),
  ...(view.profile === undefined
    ? []
    : [`EXISTS (SELECT 1 FROM canvas.nodes n WHERE n.id = e.node_id AND n.profile = ${put(view.profile)})`]),
]

/** The events of all nodes in the order of the transactions that wrote them, which keeps that of each tree. */
@Injectable()
export class CanvasEventRepository {
  async facts(reader: Reader): Promise<Facts> {
    const [row] = await reader.query<Facts>(`SELECT ${FACTS} FROM canvas.event_line l`)
    return row as Facts
  }

  /**
   * At most `limit` events of the view out of the next `most`. That who is below whom is read with them keeps a node that
   * is made meanwhile from being passed over.
   */
  async scan(
    reader: Reader,
    view: EventView,
    { after, limit, most }: { after: EventPosition; limit: number; most: number },
  ): Promise<EventScan> {
    const values: unknown[] = [after.xid, after.rootId, after.treeSeq, most, limit]
    const put = (value: unknown): string => `$${values.push(value)}`
    const below = view.topId
      ? `below AS (SELECT id FROM canvas.nodes WHERE id = ${put(view.topId)}
          UNION ALL SELECT n.id FROM canvas.nodes n JOIN below b ON n.parent_id = b.id),`
      : ''
    const conditions = conditionsOf(view, put)
    const found = await reader.query<Row>(
      `WITH RECURSIVE ${below} scan AS MATERIALIZED (
         SELECT * FROM canvas.events e
          WHERE (e.xid, e.root_id, e.tree_seq) > ($1::xid8, $2::text, $3::bigint)
            AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
          ORDER BY e.xid, e.root_id, e.tree_seq LIMIT $4
       ), shown AS (
         SELECT * FROM scan e ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
          ORDER BY e.xid, e.root_id, e.tree_seq LIMIT $5
       ), last AS (
         SELECT xid, root_id, tree_seq FROM scan ORDER BY xid DESC, root_id DESC, tree_seq DESC LIMIT 1
       )
       SELECT ${FACTS}, (SELECT count(*) FROM scan) AS scanned,
              EXISTS (SELECT 1 FROM canvas.events p WHERE p.xid >= pg_snapshot_xmin(pg_current_snapshot())) AS pending,
              last.xid AS last_xid, last.root_id AS last_root, last.tree_seq AS last_seq, shown.*
         FROM canvas.event_line l LEFT JOIN last ON true LEFT JOIN shown ON true
        ORDER BY shown.xid, shown.root_id, shown.tree_seq`,
      values,
    )
    const [{ line, same, horizon, beyond, pending, scanned, last_xid, last_root, last_seq }] = found as [Row]
    const last = last_xid === null ? undefined : { xid: last_xid, rootId: last_root, treeSeq: last_seq }
    return {
      line,
      same,
      horizon,
      beyond,
      pending,
      scanned,
      last,
      rows: found.filter(({ node_id }) => node_id !== null),
    }
  }

  /** Time of the first event of this transaction or a later one. */
  async timeAt(reader: Reader, xid: string): Promise<Date | undefined> {
    const [row] = await reader.query<{ time: Date }>(
      'SELECT time FROM canvas.events WHERE xid >= $1::xid8 ORDER BY xid, root_id, tree_seq LIMIT 1',
      [xid],
    )
    return row?.time
  }

  /** Trees whose newest events bring numbers that this database did not give out yet: what follows has its own. */
  settleTrees(tx: Tx): void {
    tx.send(`UPDATE canvas.trees SET last_xid = '0' WHERE last_xid > pg_current_xact_id()`)
  }

  /** Puts events whose numbers this database did not give out yet before all others. Answers how many, at most `limit`. */
  settleOld(tx: Tx, limit: number): Promise<number> {
    return tx.count(
      `UPDATE canvas.events e SET xid = '0' FROM (
         SELECT node_id, seq FROM canvas.events WHERE xid > pg_current_xact_id() LIMIT $1
       ) o WHERE e.node_id = o.node_id AND e.seq = o.seq`,
      [limit],
    )
  }

  /** Gives the order a new name, unless somebody else did by now. */
  rename(tx: Tx, line: string): void {
    tx.send('UPDATE canvas.event_line SET id = $1, made_in = pg_current_xact_id() WHERE made_in::xid <> xmin', [line])
  }
}
