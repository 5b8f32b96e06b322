import { Injectable } from '@nestjs/common'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** Where a turn ended in a journal. */
export interface TurnEnd {
  readonly ord: number
  readonly turn: number
}

/** Characters: a little more than is shown, so that what is left out is told. */
const mandateAtMost = 256 * 1024

/** Copies of conversations. */
@Injectable()
export class ForkRepository {
  /** The end of a turn of the context that begins at `from`; of its newest ended turn, when none is named. */
  async turnEnd(reader: Reader, nodeId: string, from: number, turn?: number): Promise<TurnEnd | undefined> {
    const [row] = await reader.query<TurnEnd>(
      `SELECT ord, turn FROM canvas.journal
        WHERE node_id = $1 AND ord >= $2 AND type = 'turn_ended' ${turn === undefined ? '' : 'AND turn = $3'}
        ORDER BY ord DESC LIMIT 1`,
      turn === undefined ? [nodeId, from] : [nodeId, from, turn],
    )
    return row
  }

  /** Whether the journal holds anything of this turn. */
  async hasTurn(reader: Reader, nodeId: string, turn: number): Promise<boolean> {
    const [row] = await reader.query<{ found: boolean }>(
      'SELECT EXISTS (SELECT 1 FROM canvas.journal WHERE node_id = $1 AND turn = $2) AS found',
      [nodeId, turn],
    )
    return row?.found === true
  }

  /** Copies the entries from `from` to `to` to the beginning of a new node's journal. */
  copyJournal(tx: Tx, copy: { source: string; target: string; from: number; to: number }): void {
    const { source, target, from, to } = copy
    tx.send(
      `INSERT INTO canvas.journal (node_id, ord, generation, engagement, turn, step, type, payload, created_at)
       SELECT $2, ord - $3 + 1, 1, 1, turn, step, type, payload, created_at
         FROM canvas.journal WHERE node_id = $1 AND ord BETWEEN $3 AND $4`,
      [source, target, from, to],
    )
    tx.send('UPDATE canvas.counters SET journal_ord = $2 WHERE node_id = $1', [target, to - from + 1])
  }

  /**
   * What a node was made for, kept with another one: read already, so that it is never handed over, but found when a
   * fresh context begins, also after the first node was deleted. Only what that one has taken in: the rest is mail. No more
   * of it than a kickoff shows: what is copied again and again must not grow.
   */
  copyMandate(tx: Tx, source: string, target: string, at: Date): void {
    tx.send(
      `WITH tasks AS (
         SELECT left(string_agg(body, E'\\n\\n' ORDER BY seq), ${mandateAtMost}) AS body FROM (
           SELECT body, seq FROM canvas.mail WHERE node_id = $1 AND kind = 'prompt' AND engagement = 1 AND acknowledged_at IS NOT NULL
            ORDER BY seq LIMIT 4
         ) AS prompts),
       place AS (UPDATE canvas.counters SET mail_seq = mail_seq + 1 WHERE node_id = $2 RETURNING mail_seq)
       INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at, acknowledged_at)
       SELECT 'msg_' || right($2, 26), $2, mail_seq, 'deferred', 'prompt', body, $4, 1, $3, $3
         FROM place, tasks WHERE body IS NOT NULL`,
      [source, target, at, JSON.stringify({ kind: 'system', id: null })],
    )
  }
}
