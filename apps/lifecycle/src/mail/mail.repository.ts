import { Injectable } from '@nestjs/common'
import type { AttachmentInfo } from '#common/contract/attachment.schema.js'
import type { MailEntry } from '#common/contract/broker.schema.js'
import type { MessageTier } from '#common/contract/node.schema.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { newId } from '#common/kernel/ids.js'

export interface NewMail {
  readonly nodeId: string
  readonly engagement: number
  readonly tier: MessageTier
  readonly kind: MailEntry['kind']
  readonly body: string
  readonly source: MailEntry['source']
  readonly attachments?: readonly AttachmentInfo[]
  /** Trace of the request that it comes of. */
  readonly traceparent?: string | null
  readonly at: Date
}

interface MailRow {
  readonly id: string
  readonly seq: number
  readonly tier: MessageTier
  readonly kind: MailEntry['kind']
  readonly body: string
  readonly source: MailEntry['source']
  readonly attachments: AttachmentInfo[] | null
  readonly traceparent: string | null
  readonly created_at: Date
}

const toEntry = (row: MailRow): MailEntry => ({
  id: row.id,
  seq: row.seq,
  tier: row.tier,
  kind: row.kind,
  body: row.body,
  source: row.source,
  ...(row.attachments && { attachments: row.attachments }),
  ...(row.traceparent !== null && { traceparent: row.traceparent }),
  created_at: row.created_at.toISOString(),
})

/** Bytes of a mail with what it carries. */
const weight = `octet_length(body) + CASE WHEN attachments IS NULL THEN 0
  ELSE (SELECT sum((one ->> 'bytes')::int) FROM json_array_elements(attachments) one) END`

/** Bytes of mail after which a claim is full: a turn takes it all in one entry of the journal, which has its limit. */
const claimBytes = 768 * 1024

const wanted = { all: ['critical', 'urgent', 'normal', 'deferred'], steering: ['critical', 'urgent'] } as const

const acknowledge = `
  UPDATE canvas.mail SET acknowledged_at = $3, turn = $4, lease_expires_at = NULL
   WHERE node_id = $1 AND id = ANY($2) AND acknowledged_at IS NULL`

export interface Waiting {
  /** Unread mail that wakes: anything but deferred. */
  readonly waking: number
  readonly urgent: boolean
  readonly critical: boolean
  readonly unread: number
}

/** Mail of nodes: in order by a sequence of each node's own, leased to one generation, gone from view once acknowledged. */
@Injectable()
export class MailRepository {
  /** Appends a mail; the node's counter row gives it its number and its place. Answers its id. */
  append(tx: Tx, mail: NewMail): string {
    const id = newId('msg')
    tx.send(
      `WITH place AS (
         UPDATE canvas.counters SET mail_seq = mail_seq + 1 WHERE node_id = $2 RETURNING mail_seq
       )
       INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at, attachments, traceparent)
       SELECT $1, $2, mail_seq, $3, $4, $5, $6, $7, $8, $9, $10 FROM place`,
      [
        id,
        mail.nodeId,
        mail.tier,
        mail.kind,
        mail.body,
        json(mail.source),
        mail.engagement,
        mail.at,
        mail.attachments?.length ? json(mail.attachments) : null,
        mail.traceparent ?? null,
      ],
    )
    return id
  }

  /**
   * Leases unread mail to a generation: the oldest, up to `limit` pieces and some 768 KiB, but one piece always. What another generation, or an expired lease, holds is leased again; what this
   * generation holds already is answered again, since its first answer may have been lost.
   */
  async claim(
    tx: Tx,
    claim: { nodeId: string; generation: number; limit: number; which: keyof typeof wanted; until: Date },
  ): Promise<MailEntry[]> {
    const rows = await tx.query<MailRow>(
      `UPDATE canvas.mail SET claimed_generation = $2, lease_expires_at = $3
        WHERE id IN (
          SELECT id FROM (
            SELECT id, sum(weight) OVER (ORDER BY seq) - weight AS before FROM (
            SELECT id, seq, ${weight} AS weight FROM canvas.mail
             WHERE node_id = $1 AND acknowledged_at IS NULL AND tier = ANY($4)
             ORDER BY seq LIMIT $5) unread) box
           WHERE before < $6)
       RETURNING id, seq, tier, kind, body, source, attachments, traceparent, created_at`,
      [claim.nodeId, claim.generation, claim.until, [...wanted[claim.which]], claim.limit, claimBytes],
    )
    return rows.sort((a, b) => a.seq - b.seq).map(toEntry)
  }

  /** Answers how many of them were unread until now. */
  acknowledge(tx: Tx, nodeId: string, ids: readonly string[], turn: number | null, at: Date): Promise<number> {
    return tx.count(acknowledge, [nodeId, [...ids], at, turn])
  }

  /** As `acknowledge`, without waiting for the answer. */
  accept(tx: Tx, nodeId: string, ids: readonly string[], turn: number, at: Date): void {
    tx.send(acknowledge, [nodeId, [...ids], at, turn])
  }

  /** The first prompt of a node: what it was made for. */
  async firstPrompt(reader: Reader, nodeId: string): Promise<string | undefined> {
    const [row] = await reader.query<{ body: string }>(
      "SELECT body FROM canvas.mail WHERE node_id = $1 AND kind = 'prompt' ORDER BY seq LIMIT 1",
      [nodeId],
    )
    return row?.body
  }

  /** Unread mail of the fullest of these boxes. */
  async fullest(reader: Reader, nodeIds: readonly string[]): Promise<number> {
    const [row] = await reader.query<{ unread: number }>(
      `SELECT coalesce(max(unread), 0) AS unread FROM (
         SELECT count(*) AS unread FROM canvas.mail
          WHERE node_id = ANY($1) AND acknowledged_at IS NULL GROUP BY node_id) AS boxes`,
      [[...nodeIds]],
    )
    return row?.unread ?? 0
  }

  /** Whether unread mail gives an ended node new work: a message does; the work that has ended, and what became of others, don't. */
  async reopens(reader: Reader, nodeId: string): Promise<boolean> {
    const [row] = await reader.query<{ found: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM canvas.mail WHERE node_id = $1 AND acknowledged_at IS NULL
         AND kind = 'message' AND tier <> 'deferred') AS found`,
      [nodeId],
    )
    return row?.found ?? false
  }

  async waiting(reader: Reader, nodeId: string): Promise<Waiting> {
    const [row] = await reader.query<Waiting>(
      `SELECT count(*) FILTER (WHERE tier <> 'deferred') AS waking, count(*) AS unread,
              coalesce(bool_or(tier IN ('critical', 'urgent')), false) AS urgent,
              coalesce(bool_or(tier = 'critical'), false) AS critical
         FROM canvas.mail WHERE node_id = $1 AND acknowledged_at IS NULL`,
      [nodeId],
    )
    return row ?? { waking: 0, unread: 0, urgent: false, critical: false }
  }
}
