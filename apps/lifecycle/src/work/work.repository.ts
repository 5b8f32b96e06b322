import { Injectable } from '@nestjs/common'
import type { MessageTier } from '#common/contract/node.schema.js'
import type { Position } from '#common/kernel/database/cursor.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { NodeRecord } from '../node/node.record.js'

/** To which node a work was given, and from where on its record tells what became of it. */
export interface GivenWork {
  readonly node_id: string
  readonly engagement: number
  readonly node_version: number
  readonly message_id: string
}

export interface WorkRecord extends GivenWork {
  readonly key: string
  readonly accepted_at: Date
}

type WorkingNode = Pick<NodeRecord, 'status' | 'lifecycle' | 'engagement' | 'fault' | 'worktree' | 'updated_at'>

/** A work with the mail that it is, and the node that has this mail now: a root's successor takes over what is unread. */
export interface WorkInHand extends WorkRecord {
  readonly mail: {
    readonly node_id: string
    readonly tier: MessageTier
    /** Null while it is unread; 0 when it was taken in before the first turn. */
    readonly turn: number | null
  } | null
  readonly node: WorkingNode | null
}

interface InHandRow extends WorkRecord, WorkingNode {
  readonly mail_node_id: string | null
  readonly tier: MessageTier
  readonly turn: number | null
  readonly acknowledged_at: Date | null
  readonly node_engagement: number
}

/** A turn that has begun or ended. */
export interface TurnMark {
  readonly turn: number
  readonly engagement: number
  /** Null of a turn that has begun. */
  readonly ended: { readonly status: 'completed' | 'failed' | 'interrupted'; readonly at: Date } | null
  /** Whether the node owed a fresh context then, in which it goes on with the same. */
  readonly refreshed: boolean
}

interface MarkRow {
  readonly n: number
  readonly turn: number
  readonly engagement: number
  readonly status: 'completed' | 'failed' | 'interrupted' | null
  readonly created_at: Date
  readonly intent: string | null
}

export interface Ending {
  readonly status: 'done' | 'dead' | 'canceled'
  readonly at: Date
}

export interface FaultText {
  readonly kind: string
  readonly message: string
}

/** The node and, of its pieces of work, the one that is asked after. */
export interface Engaged {
  readonly nodeId: string
  readonly engagement: number
}

/** The piece of work that a node had at a version: from there on its transitions are read, and pieces of work counted. */
export interface Since {
  readonly version: number
  readonly engagement: number
}

const columns = 'key, node_id, engagement, node_version, message_id, accepted_at'

/** Marks of turns that are read of one node at once. */
export const marksAtOnce = 8

/** What was begun under which key, and the rows that tell what became of it. */
@Injectable()
export class WorkRepository {
  /** One that is known to be there. */
  async get(reader: Reader, key: string): Promise<WorkRecord> {
    const [row] = await reader.query<WorkRecord>(`SELECT ${columns} FROM canvas.works WHERE key = $1`, [key])
    if (!row) throw new Error(`work ${key} was claimed by nobody`)
    return row
  }

  /** Whether this transaction is the first with this key: another one that is under way is waited for. */
  async claim(tx: Tx, key: string, at: Date): Promise<boolean> {
    const claimed = await tx.count(
      `INSERT INTO canvas.works (${columns}) VALUES ($1, '', 0, 0, '', $2) ON CONFLICT (key) DO NOTHING`,
      [key, at],
    )
    return claimed === 1
  }

  /** What came of a key that this transaction has claimed. */
  keep(tx: Tx, key: string, given: GivenWork): void {
    tx.send(
      'UPDATE canvas.works SET node_id = $2, engagement = $3, node_version = $4, message_id = $5 WHERE key = $1',
      [key, given.node_id, given.engagement, given.node_version, given.message_id],
    )
  }

  async inHand(reader: Reader, keys: readonly string[]): Promise<WorkInHand[]> {
    const rows = await reader.query<InHandRow>(
      `SELECT w.key, w.node_id, w.engagement, w.node_version, w.message_id, w.accepted_at,
              m.node_id AS mail_node_id, m.tier, m.turn, m.acknowledged_at,
              n.status, n.lifecycle, n.engagement AS node_engagement, n.fault, n.worktree, n.updated_at
         FROM canvas.works w
         LEFT JOIN canvas.mail m ON m.id = w.message_id
         LEFT JOIN canvas.nodes n ON n.id = m.node_id
        WHERE w.key = ANY ($1::text[])`,
      [keys],
    )
    return rows.map(toWork)
  }

  /**
   * For each of these, by its place: what is marked of that turn and the next ones, a bounded number. The status is cut out
   * of the entry's text, which may be long; and one that holds U+0000 is nothing that Postgres would parse.
   */
  async marks(
    reader: Reader,
    from: readonly { readonly nodeId: string; readonly turn: number; readonly since: Since }[],
  ): Promise<Map<number, TurnMark[]>> {
    if (from.length === 0) return new Map()
    const rows = await reader.query<MarkRow>(
      `SELECT asked.n::int AS n, mark.turn, mark.engagement, mark.status, mark.created_at, mark.intent
         FROM unnest($1::text[], $2::int[], $3::int[]) WITH ORDINALITY AS asked (node_id, turn, since, n)
         CROSS JOIN LATERAL (
           SELECT j.turn, j.engagement, j.created_at, j.ord,
                  CASE WHEN j.type = 'turn_ended' THEN substring(j.payload::text FROM '"status":"([a-z]+)"') END AS status,
                  CASE WHEN j.type = 'turn_ended' THEN (
                    SELECT t.intent FROM canvas.transitions t
                     WHERE t.node_id = j.node_id AND t.version >= asked.since AND t.at < j.created_at
                     ORDER BY t.version DESC LIMIT 1) END AS intent
             FROM canvas.journal j
            WHERE j.node_id = asked.node_id AND j.turn >= asked.turn AND j.type IN ('turn_started', 'turn_ended')
            ORDER BY j.turn, j.ord LIMIT ${marksAtOnce}) mark
        ORDER BY asked.n, mark.turn, mark.ord`,
      [from.map(({ nodeId }) => nodeId), from.map(({ turn }) => turn), from.map(({ since }) => since.version)],
    )
    return grouped(rows)
  }

  /**
   * For each of these, by its place: how the node first ended in that piece of work.
   */
  async endings(reader: Reader, asked: readonly (Engaged & { readonly since: Since })[]): Promise<Map<number, Ending>> {
    if (asked.length === 0) return new Map()
    const rows = await reader.query<Ending & { n: number }>(
      `SELECT asked.n::int AS n, ending.status, ending.at
         FROM unnest($1::text[], $2::int[], $3::int[], $4::int[])
           WITH ORDINALITY AS asked (node_id, engagement, since_version, since_engagement, n)
         CROSS JOIN LATERAL (
           SELECT moved.to_status AS status, moved.at FROM (
             SELECT t.version, t.to_status, t.at, asked.since_engagement
                      + count(*) FILTER (WHERE t.event = 'revive' AND t.from_status IN ('done', 'dead', 'canceled'))
                          OVER (ORDER BY t.version) AS engagement
               FROM canvas.transitions t WHERE t.node_id = asked.node_id AND t.version > asked.since_version) moved
            WHERE moved.engagement = asked.engagement AND moved.to_status IN ('done', 'dead', 'canceled')
            ORDER BY moved.version LIMIT 1) ending`,
      [
        asked.map(({ nodeId }) => nodeId),
        asked.map(({ engagement }) => engagement),
        asked.map(({ since }) => since.version),
        asked.map(({ since }) => since.engagement),
      ],
    )
    return new Map(rows.map(({ n, ...ending }) => [n - 1, ending]))
  }

  /** For each of these, by its place: the last fault that the node met in that piece of work. */
  async faults(reader: Reader, asked: readonly Engaged[]): Promise<Map<number, FaultText>> {
    if (asked.length === 0) return new Map()
    const rows = await reader.query<FaultText & { n: number }>(
      `SELECT asked.n::int AS n, fault.kind, fault.message
         FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS asked (node_id, engagement, n)
         CROSS JOIN LATERAL (
           SELECT f.kind, f.message FROM canvas.faults f
            WHERE f.node_id = asked.node_id AND f.engagement = asked.engagement ORDER BY f.ord DESC LIMIT 1) fault`,
      [asked.map(({ nodeId }) => nodeId), asked.map(({ engagement }) => engagement)],
    )
    return new Map(rows.map(({ n, ...fault }) => [n - 1, fault]))
  }

  /** Works that were begun before then, in their order from a position on. */
  older(reader: Reader, before: Date, after: Position, limit: number): Promise<{ key: string; accepted_at: Date }[]> {
    return reader.query(
      `SELECT key, accepted_at FROM canvas.works WHERE accepted_at < $1 AND (accepted_at, key) > ($2, $3)
        ORDER BY accepted_at, key LIMIT $4`,
      [before, after.createdAt, after.id, limit],
    )
  }

  remove(tx: Tx, keys: readonly string[]): Promise<number> {
    return tx.count('DELETE FROM canvas.works WHERE key = ANY ($1::text[])', [keys])
  }
}

const toWork = ({ mail_node_id, tier, turn, acknowledged_at, node_engagement, ...row }: InHandRow): WorkInHand => {
  const { status, lifecycle, fault, worktree, updated_at, ...work } = row
  return {
    ...work,
    mail: mail_node_id === null ? null : { node_id: mail_node_id, tier, turn: acknowledged_at && (turn ?? 0) },
    node: status === null ? null : { status, lifecycle, engagement: node_engagement, fault, worktree, updated_at },
  }
}

const grouped = (rows: readonly MarkRow[]): Map<number, TurnMark[]> => {
  const found = new Map<number, TurnMark[]>()
  for (const { n, turn, engagement, status, created_at, intent } of rows) {
    const ended = status && { status, at: created_at }
    const mark = { turn, engagement, ended, refreshed: intent === 'refresh' }
    found.set(n - 1, [...(found.get(n - 1) ?? []), mark])
  }
  return found
}
