import { Injectable } from '@nestjs/common'
import type { NodeStatus } from '#common/contract/node.schema.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { newId } from '#common/kernel/ids.js'

/** What a node was given to do. */
export interface Task {
  readonly body: string
  readonly engagement: number
}

export interface LiveChild {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly status: NodeStatus
}

export interface LiveJob {
  readonly id: string
  readonly command: string
}

export interface UnfinishedTurn {
  readonly turn: number
  readonly how: 'open' | 'interrupted' | 'failed'
}

/** What is read and written where the context of a node begins. */
@Injectable()
export class ContextRepository {
  /** A kickoff that gets its text when a process of the node binds. Its number is below zero: it stands in front of all mail. */
  oweKickoff(tx: Tx, kickoff: { nodeId: string; context: number; engagement: number; at: Date }): void {
    const { nodeId, context, engagement, at } = kickoff
    tx.send(
      `INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at)
       VALUES ($1, $2, $3, 'normal', 'kickoff', '', $4, $5, $6)`,
      [newId('msg'), nodeId, -context, json({ kind: 'system', id: null }), engagement, at],
    )
  }

  /** The kickoff that waits for its text, if any. */
  async unwrittenKickoff(reader: Reader, nodeId: string): Promise<string | undefined> {
    const [row] = await reader.query<{ id: string }>(
      `SELECT id FROM canvas.mail
        WHERE node_id = $1 AND kind = 'kickoff' AND acknowledged_at IS NULL AND body = '' ORDER BY seq DESC LIMIT 1`,
      [nodeId],
    )
    return row?.id
  }

  async hasUnreadKickoff(reader: Reader, nodeId: string): Promise<boolean> {
    const [row] = await reader.query<{ unread: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM canvas.mail
                       WHERE node_id = $1 AND kind = 'kickoff' AND acknowledged_at IS NULL) AS unread`,
      [nodeId],
    )
    return row?.unread === true
  }

  writeKickoff(tx: Tx, mailId: string, body: string): void {
    tx.send('UPDATE canvas.mail SET body = $2 WHERE id = $1', [mailId, body])
  }

  /** A kickoff that no turn has taken in is stale once the next context begins. */
  dropKickoff(tx: Tx, nodeId: string, at: Date): void {
    tx.send(
      `UPDATE canvas.mail SET acknowledged_at = $2, lease_expires_at = NULL
        WHERE node_id = $1 AND kind = 'kickoff' AND acknowledged_at IS NULL`,
      [nodeId, at],
    )
  }

  /**
   * What the node is for, oldest first: its prompts of the first piece of work, and what began the present one: its prompt,
   * or the message that reopened it. What it has not taken in yet is left out: that follows as mail.
   */
  mandate(reader: Reader, nodeId: string, engagement: number): Promise<Task[]> {
    return reader.query<Task>(
      `SELECT body, engagement FROM (
         (SELECT seq, body, engagement FROM canvas.mail
           WHERE node_id = $1 AND kind = 'prompt' AND engagement = 1 AND acknowledged_at IS NOT NULL ORDER BY seq LIMIT 4)
         UNION (SELECT seq, body, engagement FROM canvas.mail
           WHERE node_id = $1 AND kind IN ('prompt', 'message') AND engagement = $2 AND $2 > 1
            AND acknowledged_at IS NOT NULL ORDER BY seq LIMIT 1)) AS tasks
        ORDER BY seq`,
      [nodeId, engagement],
    )
  }

  /** Bodies of the mail that a turn took in. */
  async taken(reader: Reader, nodeId: string, turn: number): Promise<{ kind: string; body: string }[]> {
    return reader.query(
      "SELECT kind, body FROM canvas.mail WHERE node_id = $1 AND turn = $2 AND kind <> 'kickoff' ORDER BY seq LIMIT 20",
      [nodeId, turn],
    )
  }

  /** Nodes that this one watches actively and that have not ended. */
  liveChildren(reader: Reader, nodeId: string): Promise<LiveChild[]> {
    return reader.query<LiveChild>(
      `SELECT n.id, n.name, n.kind, n.status FROM canvas.subscriptions s JOIN canvas.nodes n ON n.id = s.publisher
        WHERE s.subscriber = $1 AND s.mode = 'active' AND n.status IN ('active', 'idle') ORDER BY n.id LIMIT 64`,
      [nodeId],
    )
  }

  liveJobs(reader: Reader, nodeId: string): Promise<LiveJob[]> {
    return reader.query<LiveJob>(
      "SELECT id, command FROM canvas.jobs WHERE node_id = $1 AND status = 'running' ORDER BY started_at LIMIT 64",
      [nodeId],
    )
  }

  /** The newest reports of a node, oldest of them first. */
  async reports(reader: Reader, nodeId: string, limit: number): Promise<{ kind: string; body: string; at: Date }[]> {
    const rows = await reader.query<{ kind: string; body: string; at: Date }>(
      'SELECT kind, body, created_at AS at FROM canvas.reports WHERE node_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2',
      [nodeId, limit],
    )
    return rows.reverse()
  }

  /** Nodes at work that asked for a fresh context before then, and have not begun it. */
  async overdue(reader: Reader, before: Date): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      "SELECT id FROM canvas.nodes WHERE refresh_asked_at < $1 AND status = 'active' ORDER BY id",
      [before],
    )
    return rows.map(({ id }) => id)
  }

  /** Nodes below this one that were canceled. */
  async canceledBelow(reader: Reader, nodeId: string): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      `WITH RECURSIVE below AS (
         SELECT id, status FROM canvas.nodes WHERE parent_id = $1
         UNION ALL SELECT n.id, n.status FROM canvas.nodes n JOIN below b ON n.parent_id = b.id
       ) SELECT id FROM below WHERE status = 'canceled' ORDER BY id`,
      [nodeId],
    )
    return rows.map(({ id }) => id)
  }

  /** The last turn in the journal, when it was not completed: how it ended, `open` when it has no end. */
  async unfinishedTurn(reader: Reader, nodeId: string): Promise<UnfinishedTurn | undefined> {
    const [last] = await reader.query<{ turn: number; how: UnfinishedTurn['how'] | 'completed' }>(
      `SELECT turn, CASE type WHEN 'turn_ended' THEN payload ->> 'status' ELSE 'open' END AS how
         FROM canvas.journal WHERE node_id = $1 ORDER BY ord DESC LIMIT 1`,
      [nodeId],
    )
    return last === undefined || last.how === 'completed' ? undefined : { turn: last.turn, how: last.how }
  }
}
