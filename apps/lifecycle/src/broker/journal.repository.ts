import { isDeepStrictEqual } from 'node:util'
import { Injectable } from '@nestjs/common'
import type { JournalEntry, JournalRecord } from '#common/contract/broker.schema.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

interface JournalRow {
  readonly ord: number
  readonly generation: number
  readonly payload: JournalEntry
  readonly created_at: Date
}

/** Of one page of the journal: what travels in one message stays far below the bus's limit. */
const pageEntries = 1000
const pageBytes = 1024 * 1024

const toRecord = (row: JournalRow): JournalRecord => ({
  ord: row.ord,
  generation: row.generation,
  created_at: row.created_at.toISOString(),
  entry: row.payload,
})

/** What an engine did, append-only, in the order of `ord`: 1, 2, 3 … without a gap. */
@Injectable()
export class JournalRepository {
  /** Position of the newest entry, locked until the transaction ends; 0 before the first. */
  async lockHead(tx: Tx, nodeId: string): Promise<number> {
    const [row] = await tx.query<{ journal_ord: number }>(
      'SELECT journal_ord FROM canvas.counters WHERE node_id = $1 FOR NO KEY UPDATE',
      [nodeId],
    )
    return row?.journal_ord ?? 0
  }

  append(
    tx: Tx,
    batch: {
      nodeId: string
      from: number
      generation: number
      engagement: number
      entries: readonly JournalEntry[]
      at: Date
    },
  ): void {
    const { nodeId, from, entries } = batch
    tx.send('UPDATE canvas.counters SET journal_ord = $2 WHERE node_id = $1', [nodeId, from + entries.length - 1])
    tx.send(
      `INSERT INTO canvas.journal (node_id, ord, generation, engagement, turn, step, type, payload, created_at)
       SELECT $1, $2 + n - 1, $3, $4, turn, step, type, payload, $9
         FROM unnest($5::int[], $6::int[], $7::text[], $8::json[]) WITH ORDINALITY AS given(turn, step, type, payload, n)`,
      [
        nodeId,
        from,
        batch.generation,
        batch.engagement,
        entries.map((entry) => entry.turn),
        entries.map((entry) => ('step' in entry ? entry.step : null)),
        entries.map((entry) => entry.type),
        entries.map(json),
        batch.at,
      ],
    )
  }

  /** Whether exactly these entries stand at this position already. */
  async holds(reader: Reader, nodeId: string, from: number, entries: readonly JournalEntry[]): Promise<boolean> {
    const rows = await this.read(reader, nodeId, from, entries.length)
    const sent = JSON.parse(JSON.stringify(entries)) as unknown
    return isDeepStrictEqual(
      rows.map((row) => row.entry),
      sent,
    )
  }

  async read(reader: Reader, nodeId: string, from: number, limit: number): Promise<JournalRecord[]> {
    const rows = await reader.query<JournalRow>(
      'SELECT ord, generation, payload, created_at FROM canvas.journal WHERE node_id = $1 AND ord >= $2 ORDER BY ord LIMIT $3',
      [nodeId, from, limit],
    )
    return rows.map(toRecord)
  }

  /** Entries from a position on, as many as a message may carry; at least one when there is any. */
  async page(reader: Reader, nodeId: string, from: number): Promise<JournalRecord[]> {
    const rows = await reader.query<JournalRow>(
      `SELECT ord, generation, payload, created_at FROM (
         SELECT ord, generation, payload, created_at, sum(octet_length(payload::text)) OVER (ORDER BY ord) AS bytes
           FROM canvas.journal WHERE node_id = $1 AND ord BETWEEN $2 AND $2 + ${pageEntries - 1}) page
        WHERE bytes <= ${pageBytes} OR ord = $2 ORDER BY ord`,
      [nodeId, from],
    )
    return rows.map(toRecord)
  }

  async hasOpenTurn(reader: Reader, nodeId: string): Promise<boolean> {
    const [last] = await reader.query<{ type: string }>(
      'SELECT type FROM canvas.journal WHERE node_id = $1 ORDER BY ord DESC LIMIT 1',
      [nodeId],
    )
    return last !== undefined && last.type !== 'turn_ended'
  }

  /** Calls that have begun and whose end is in no entry, in the order in which they began. */
  openCalls(reader: Reader, nodeId: string): Promise<{ turn: number; step: number; call_id: string; name: string }[]> {
    return reader.query(
      `SELECT turn, step, call_id, name FROM canvas.tool_calls
        WHERE node_id = $1 AND status = 'started' ORDER BY turn, step, started_at, call_id`,
      [nodeId],
    )
  }

  async hasOpenCalls(reader: Reader, of: { nodeId: string } | { rootId: string }): Promise<boolean> {
    const [column, id] = 'nodeId' in of ? ['node.id', of.nodeId] : ['node.root_id', of.rootId]
    const [row] = await reader.query<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM canvas.tool_calls call JOIN canvas.nodes node ON node.id = call.node_id
                       WHERE call.status = 'started' AND ${column} = $1) AS open`,
      [id],
    )
    return row?.open === true
  }

  /** Whether answers of the model are in the record whose cost is not on the node's account yet. */
  async hasUncountedAnswers(reader: Reader, nodeId: string): Promise<boolean> {
    const [row] = await reader.query<{ uncounted: boolean }>(
      `SELECT (SELECT count(*) FROM canvas.journal entry JOIN canvas.nodes node ON node.id = entry.node_id
                WHERE node.id = $1 AND entry.ord > node.copied_ord AND entry.type = 'message'
                  AND entry.payload ->> 'role' = 'assistant' AND entry.payload ->> 'model' IS NOT NULL)
            > (SELECT count(*) FROM canvas.events WHERE node_id = $1 AND type = 'node.usage') AS uncounted`,
      [nodeId],
    )
    return row?.uncounted === true
  }

  /** Nodes that have ended and left calls open. */
  async endedWithOpenCalls(reader: Reader): Promise<string[]> {
    const rows = await reader.query<{ node_id: string }>(
      `SELECT DISTINCT call.node_id FROM canvas.tool_calls call JOIN canvas.nodes node ON node.id = call.node_id
        WHERE call.status = 'started' AND node.status IN ('done', 'dead', 'canceled')`,
    )
    return rows.map((row) => row.node_id)
  }

  startTool(
    tx: Tx,
    call: { nodeId: string; turn: number; step: number; callId: string; name: string; generation: number; at: Date },
  ): void {
    tx.send(
      `INSERT INTO canvas.tool_calls (node_id, turn, call_id, step, name, status, generation, started_at)
       VALUES ($1, $2, $3, $4, $5, 'started', $6, $7)`,
      [call.nodeId, call.turn, call.callId, call.step, call.name, call.generation, call.at],
    )
  }

  endTool(tx: Tx, call: { nodeId: string; turn: number; callId: string; status: string; at: Date }): void {
    tx.send(
      `UPDATE canvas.tool_calls SET status = $4, ended_at = $5
        WHERE node_id = $1 AND turn = $2 AND call_id = $3 AND status = 'started'`,
      [call.nodeId, call.turn, call.callId, call.status, call.at],
    )
  }
}
