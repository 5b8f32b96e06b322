import type { Job, JobStatus } from '#common/contract/job.schema.js'

/** A row of canvas.jobs. */
export interface JobRecord {
  readonly id: string
  readonly node_id: string
  readonly command: string
  readonly cwd: string
  readonly status: JobStatus
  readonly exit_code: number | null
  readonly signal: string | null
  readonly started_at: Date
  readonly ended_at: Date | null
  readonly output_bytes: number
  readonly truncated: boolean
  readonly error: string | null
  readonly host_id: string
  /** The start of the host that may run it. */
  readonly host_incarnation: string
  readonly cancel_requested_at: Date | null
  /** Principal that canceled it first. */
  readonly canceled_by: string | null
}

/** The job as the contract shows it. */
export const toJob = (row: JobRecord): Job => ({
  id: row.id,
  node_id: row.node_id,
  command: row.command,
  cwd: row.cwd,
  status: row.status,
  exit_code: row.exit_code,
  signal: row.signal,
  started_at: row.started_at.toISOString(),
  ended_at: row.ended_at?.toISOString() ?? null,
  output_bytes: row.output_bytes,
  truncated: row.truncated,
  error: row.error,
})
