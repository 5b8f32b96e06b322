import { Injectable } from '@nestjs/common'
import type { JobStatus } from '#common/contract/job.schema.js'
import type { Position } from '#common/kernel/database/cursor.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import type { NodeRecord } from '../node/node.record.js'
import type { JobRecord } from './job.record.js'

/** A job that should run, as its host is to be asked for it. */
export interface OwedJob extends JobRecord {
  readonly node_status: NodeRecord['status']
  readonly app_id: string | null
  readonly profile: string | null
  /** Of its node. */
  readonly scopes: string[]
}

export type JobEnding = Pick<
  JobRecord,
  'status' | 'exit_code' | 'signal' | 'ended_at' | 'output_bytes' | 'truncated' | 'error'
>

/** Rows of canvas.jobs. Whoever changes one has locked its node first. */
@Injectable()
export class JobRepository {
  insert(tx: Tx, row: JobRecord): void {
    const names = Object.keys(row)
    tx.send(
      `INSERT INTO canvas.jobs (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
      Object.values(row),
    )
  }

  async find(reader: Reader, id: string): Promise<JobRecord | undefined> {
    const [row] = await reader.query<JobRecord>('SELECT * FROM canvas.jobs WHERE id = $1', [id])
    return row
  }

  /** @throws SvcError not_found, also for a job of another node */
  async get(reader: Reader, nodeId: string, id: string): Promise<JobRecord> {
    const row = await this.find(reader, id)
    if (row?.node_id === nodeId) return row
    throw new SvcError('not_found', `There is no job ${id} of this node.`, { resource: 'job', id })
  }

  page(
    reader: Reader,
    nodeId: string,
    filter: { status: JobStatus | undefined; before: Position | undefined; limit: number },
  ): Promise<JobRecord[]> {
    const { status, before, limit } = filter
    const values: unknown[] = [nodeId, limit]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      'node_id = $1',
      ...(status === undefined ? [] : [`status = ${put(status)}`]),
      ...(before === undefined ? [] : [`(started_at, id) < (${put(before.createdAt)}, ${put(before.id)})`]),
    ]
    return reader.query<JobRecord>(
      `SELECT * FROM canvas.jobs WHERE ${conditions.join(' AND ')} ORDER BY started_at DESC, id DESC LIMIT $2`,
      values,
    )
  }

  /** Running jobs of a node, and of a host. */
  async running(reader: Reader, nodeId: string, hostId: string): Promise<{ ofNode: number; ofHost: number }> {
    const [row] = await reader.query<{ of_node: number; of_host: number }>(
      `SELECT count(*) FILTER (WHERE node_id = $1) AS of_node, count(*) FILTER (WHERE host_id = $2) AS of_host
         FROM canvas.jobs WHERE status = 'running'`,
      [nodeId, hostId],
    )
    return { ofNode: row?.of_node ?? 0, ofHost: row?.of_host ?? 0 }
  }

  /** All that a host should be running. */
  owedBy(reader: Reader, hostId: string): Promise<OwedJob[]> {
    return reader.query<OwedJob>(
      `SELECT j.*, n.status AS node_status, n.app_id, n.profile, n.scopes FROM canvas.jobs j JOIN canvas.nodes n ON n.id = j.node_id
        WHERE j.status = 'running' AND j.host_id = $1`,
      [hostId],
    )
  }

  runningOf(reader: Reader, nodeId: string): Promise<JobRecord[]> {
    return reader.query<JobRecord>("SELECT * FROM canvas.jobs WHERE node_id = $1 AND status = 'running'", [nodeId])
  }

  /** Whether a job of a node, or of any of a tree, still runs. */
  async hasRunning(reader: Reader, of: { nodeId: string } | { rootId: string }): Promise<boolean> {
    const [column, id] = 'nodeId' in of ? ['id', of.nodeId] : ['root_id', of.rootId]
    const [row] = await reader.query<{ running: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM canvas.jobs j JOIN canvas.nodes n ON n.id = j.node_id
                       WHERE n.${column} = $1 AND j.status = 'running') AS running`,
      [id],
    )
    return row?.running === true
  }

  /** Those of them that run, or should, by their rows. */
  async runningAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
    const rows = await reader.query<{ id: string }>(
      "SELECT id FROM canvas.jobs WHERE id = ANY($1) AND status = 'running'",
      [ids],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /** Jobs that somebody wanted to end before then, and of which no end was told. */
  unanswered(reader: Reader, before: Date): Promise<JobRecord[]> {
    return reader.query<JobRecord>(
      `SELECT j.* FROM canvas.jobs j JOIN canvas.nodes n ON n.id = j.node_id
        WHERE j.status = 'running' AND (j.cancel_requested_at < $1 OR (n.status = 'canceled' AND n.updated_at < $1))`,
      [before],
    )
  }

  /** Removes jobs that ended before then; answers how many. */
  prune(tx: Tx, before: Date): Promise<number> {
    return tx.count("DELETE FROM canvas.jobs WHERE status <> 'running' AND ended_at < $1", [before])
  }

  requestCancel(tx: Tx, id: string, by: string, at: Date): void {
    tx.send(
      `UPDATE canvas.jobs SET cancel_requested_at = $2, canceled_by = $3
        WHERE id = $1 AND cancel_requested_at IS NULL`,
      [id, at, by],
    )
  }

  end(tx: Tx, id: string, ending: JobEnding): void {
    const { status, exit_code, signal, ended_at, output_bytes, truncated, error } = ending
    tx.send(
      `UPDATE canvas.jobs SET status = $2, exit_code = $3, signal = $4, ended_at = $5, output_bytes = $6,
              truncated = $7, error = $8
        WHERE id = $1 AND status = 'running'`,
      [id, status, exit_code, signal, ended_at, output_bytes, truncated, error],
    )
  }
}
