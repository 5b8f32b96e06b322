import type { AdminConnection } from '#common/testing/admin-connection.js'

/** What the database says of one node. */
export interface NodeRecord {
  id: string
  status: string
  fault: { message: string } | null
  named: number
  event_seq: number
  seqs: number[]
  /** Of its events, in their order. */
  types: string[]
  bound: { generation: number; pid: number }[]
  journal: {
    ord: number
    generation: number
    turn: number
    step: number | null
    type: string
    payload: JournalPayload
  }[]
  tool_calls: { turn: number; call_id: string; status: string }[]
  model_calls: { turn: number; step: number; attempt: number; status: string }[]
  mail: { body: string; kind: string; acknowledged: boolean }[]
  jobs: { id: string; status: string; exit_code: number | null; started: number; ended: number }[]
  worktree: { path: string; state: string } | null
  reports: { engagement: number; kind: string }[]
}

interface JournalPayload {
  role?: string
  call_id?: string
  status?: string
  mail?: string[]
}

const all = (columns: string, from: string, order: string): string =>
  `(SELECT coalesce(json_agg(x ORDER BY ${order}), '[]') FROM (SELECT ${columns} FROM ${from}) x)`

/** How often an event of a job was recorded. */
const told = (type: string): string =>
  `(SELECT count(*)::int FROM canvas.events e WHERE e.node_id = n.id AND e.type = '${type}' AND e.data->>'job_id' = j.id)`

const statement = `
  SELECT n.id, n.status, n.fault, n.worktree, (SELECT count(*)::int FROM canvas.nodes o WHERE o.name = n.name) AS named,
    (SELECT event_seq::int FROM canvas.counters WHERE node_id = n.id) AS event_seq,
    ${all('seq::int AS s, type', 'canvas.events WHERE node_id = n.id', 'x.s')} AS seqs,
    ${all("seq::int AS s, (data->>'generation')::int AS generation, (data->>'pid')::int AS pid", "canvas.events WHERE node_id = n.id AND type = 'node.bound'", 'x.s')} AS bound,
    ${all('ord::int, generation, turn, step, type, payload', 'canvas.journal WHERE node_id = n.id', 'x.ord')} AS journal,
    ${all('turn, call_id, status', 'canvas.tool_calls WHERE node_id = n.id', 'x.turn, x.call_id')} AS tool_calls,
    ${all('turn, step, attempt, status', 'models.calls WHERE node_id = n.id', 'x.turn, x.step, x.attempt')} AS model_calls,
    ${all('seq::int AS s, body, kind, acknowledged_at IS NOT NULL AS acknowledged', 'canvas.mail WHERE node_id = n.id', 'x.s')} AS mail,
    ${all(`j.id, j.status, j.exit_code, ${told('job.started')} AS started, ${told('job.ended')} AS ended`, 'canvas.jobs j WHERE j.node_id = n.id', 'x.id')} AS jobs,
    ${all('engagement, kind', 'canvas.reports WHERE node_id = n.id', 'x.engagement')} AS reports
  FROM canvas.nodes n WHERE n.id = ANY($1)`

type Row = Omit<NodeRecord, 'seqs' | 'types'> & { seqs: { s: number; type: string }[] }

export const readRecords = async (database: AdminConnection, ids: string[]): Promise<Map<string, NodeRecord>> => {
  const rows = await database.rows<Row>(statement, [ids])
  return new Map(
    rows.map((row) => [row.id, { ...row, seqs: row.seqs.map(({ s }) => s), types: row.seqs.map(({ type }) => type) }]),
  )
}
