import { Injectable } from '@nestjs/common'
import type { Succession } from '#common/contract/node.schema.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** What goes over from one root to another. */
@Injectable()
export class SuccessionRepository {
  /** Roots that are to take a place and have not yet. */
  async booting(reader: Reader): Promise<{ id: string; succeeds: string }[]> {
    return reader.query("SELECT id, succeeds FROM canvas.nodes WHERE succession = 'booting' ORDER BY id")
  }

  /** Whether a root is to be followed by one that boots. */
  async hasSuccessor(reader: Reader, rootId: string, succession: Succession): Promise<boolean> {
    const [row] = await reader.query<{ found: boolean }>(
      'SELECT EXISTS (SELECT 1 FROM canvas.nodes WHERE succeeds = $1 AND succession = $2) AS found',
      [rootId, succession],
    )
    return row?.found === true
  }

  /**
   * The new root watches what the old one watched, and is watched by whoever watched the old one; actively, where either
   * was. That the two watched each other ends.
   */
  moveSubscriptions(tx: Tx, from: string, to: string): void {
    tx.send('DELETE FROM canvas.subscriptions WHERE subscriber IN ($1, $2) AND publisher IN ($1, $2)', [from, to])
    tx.send(
      `WITH gone AS (DELETE FROM canvas.subscriptions WHERE $1 IN (subscriber, publisher) RETURNING *)
       INSERT INTO canvas.subscriptions AS known (subscriber, publisher, mode, created_at)
       SELECT CASE subscriber WHEN $1 THEN $2 ELSE subscriber END, CASE publisher WHEN $1 THEN $2 ELSE publisher END,
              mode, created_at
         FROM gone
       ON CONFLICT (subscriber, publisher) DO UPDATE
          SET mode = CASE excluded.mode WHEN 'active' THEN 'active' ELSE known.mode END`,
      [from, to],
    )
  }

  /** Mail that nobody has read goes over in its order, with what it carries; what a turn of the old root took in stays there. */
  moveUnreadMail(tx: Tx, from: string, to: string): void {
    tx.send(
      `UPDATE canvas.attachments SET node_id = $2 WHERE node_id = $1 AND id IN (
         SELECT carried ->> 'id' FROM canvas.mail m, json_array_elements(m.attachments) carried
          WHERE m.node_id = $1 AND m.acknowledged_at IS NULL AND m.kind <> 'kickoff')`,
      [from, to],
    )
    tx.send(
      `WITH unread AS (
         SELECT id, row_number() OVER (ORDER BY seq) AS place FROM canvas.mail
          WHERE node_id = $1 AND acknowledged_at IS NULL AND kind <> 'kickoff'),
       counted AS (
         UPDATE canvas.counters SET mail_seq = mail_seq + (SELECT count(*) FROM unread)
          WHERE node_id = $2 RETURNING mail_seq - (SELECT count(*) FROM unread) AS base)
       UPDATE canvas.mail m SET node_id = $2, seq = counted.base + unread.place, engagement = 1,
              claimed_generation = NULL, lease_expires_at = NULL
         FROM unread, counted WHERE m.id = unread.id`,
      [from, to],
    )
  }

  /** Events of these nodes are numbered in another tree from here on. */
  moveToTree(tx: Tx, nodeIds: readonly string[], rootId: string): void {
    tx.send('UPDATE canvas.counters SET root_id = $2 WHERE node_id = ANY ($1::text[])', [nodeIds, rootId])
  }
}
