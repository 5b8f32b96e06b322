import { Injectable } from '@nestjs/common'
import type { HumanPage, HumanResponseItem } from '#common/contract/human.schema.js'
import type { LedgerState } from '#common/contract/ledger.operations.js'
import type { Fault, NodeStatus } from '#common/contract/node.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { within } from '../canvas/horizon.js'
import { seen } from '../human/human-request.repository.js'
import { type Columns, type LedgerView, placed } from './ledger.view.js'

interface Row {
  readonly at: Date
  readonly id: string
  readonly node_id: string
  readonly name: string
  readonly app_id: string | null
  readonly status: NodeStatus
}

export interface FaultRow extends Row {
  readonly kind: Fault['kind']
  readonly message: string
  readonly tries: number
  readonly since: Date
  readonly ended_at: Date | null
  /** The fault of the node as it is now. */
  readonly fault: Fault | null
}

export interface LaunchRow extends Row {
  readonly generation: number
  readonly planned_at: Date
  readonly worktree_state: string | null
}

export interface WaitRow extends Row {
  readonly wait_reason: string | null
}

export interface RelaunchRow extends Row {
  readonly planned_at: Date
  readonly message: string | null
  readonly succeeds: string
  /** Of the root whose place it was to take; null when that was deleted. */
  readonly old_status: NodeStatus | null
}

export interface JobRow extends Row {
  readonly job_id: string
  readonly command: string
  readonly error: string | null
  readonly started_at: Date
}

export interface ExpiredRow extends Omit<Row, 'node_id' | 'name' | 'status'> {
  readonly node_id: string | null
  readonly name: string | null
  readonly status: NodeStatus | null
  readonly title: string
  readonly deadline: Date
  readonly pages: HumanPage[]
  readonly response: HumanResponseItem[] | null
}

export interface UnheardRow extends Row {
  readonly request_id: string
  readonly title: string
  readonly resolved_at: Date
}

const node = 'n.id AS node_id, n.name, n.app_id, n.status'

/** Kinds of fault by which a node is given up for its process, not for what a provider said. */
const ofProcess = "f.kind IN ('crash_loop', 'other')"

const faultStates: Readonly<Partial<Record<LedgerState, string>>> = {
  waiting: "f.ended_at IS NULL AND n.status IN ('active', 'idle')",
  failed: "f.ended_at IS NULL AND n.status = 'dead'",
  late: 'f.ended_at IS NOT NULL',
}

/**
 * An episode that another one took up is told by that one; one that a cancel ended was not made up for. Asked of n, so
 * that it is asked of those nodes alone that are in view.
 */
const wentOn = `(f.ended_at IS NULL OR NOT EXISTS (
    SELECT 1 FROM canvas.faults next WHERE next.node_id = n.id AND next.ord > f.ord AND next.since <= f.ended_at)
  AND NOT EXISTS (
    SELECT 1 FROM canvas.transitions t WHERE t.node_id = n.id AND t.event = 'cancel' AND t.at = f.ended_at))`

const faultsOfAll = 'canvas.faults f JOIN canvas.nodes n ON n.id = f.node_id'

/** Read node by node (OFFSET 0 holds the planner to it): few nodes have few faults, which may be old among those of all. */
const faultsOfNode = 'SELECT * FROM canvas.faults WHERE faults.node_id = n.id OFFSET 0'

/** Whether a view is about one node or one tree. */
const isNarrow = ({ horizon, nodeId }: LedgerView): boolean =>
  nodeId !== undefined || horizon.rootId !== undefined || horizon.ids !== undefined

/** Of the node n: when its status last changed. */
const moved = '(SELECT t.at FROM canvas.transitions t WHERE t.node_id = n.id ORDER BY t.version DESC LIMIT 1)'

/** What did not happen as planned, read from the rows that say so anyway. */
@Injectable()
export class LedgerRepository {
  /** Faults that hold a node's work or ended it, and those that are over. */
  faults(reader: Reader, view: LedgerView): Promise<FaultRow[]> {
    const { kind, state } = view
    const conditions = [
      ...(kind === undefined ? [] : [kind === 'launch' ? ofProcess : `NOT ${ofProcess}`]),
      ...(state === undefined ? [] : [faultStates[state] ?? 'false']),
      // it is told as a relaunch that failed
      "(f.ended_at IS NOT NULL OR n.succession IS DISTINCT FROM 'failed')",
      wentOn,
    ]
    const at = 'coalesce(f.ended_at, f.since)'
    return read<FaultRow>(reader, view, {
      at,
      id: "('fault_' || lpad(f.ord::text, 19, '0'))",
      order: `${at} DESC, f.ord DESC`,
      columns: 'f.kind, f.message, f.tries, f.since, f.ended_at, n.fault',
      from: isNarrow(view) ? `canvas.nodes n CROSS JOIN LATERAL (${faultsOfNode}) f` : faultsOfAll,
      conditions,
    })
  }

  /** Nodes that are to run and have had no process for longer than `graceMs`, and no fault says why. */
  launches(reader: Reader, view: LedgerView, now: Date, graceMs: number): Promise<LaunchRow[]> {
    const [grace, until] = [`$2 * interval '1 millisecond'`, '$3']
    return read<LaunchRow>(reader, view, {
      at: 'due.at',
      id: "('launch_' || n.id)",
      columns: `n.generation, due.planned_at, n.worktree ->> 'state' AS worktree_state`,
      from: `canvas.nodes n CROSS JOIN LATERAL (SELECT greatest(${moved}, n.next_launch_at) AS planned_at) plan
        CROSS JOIN LATERAL (SELECT plan.planned_at, plan.planned_at + ${grace} AS at) due`,
      conditions: [
        "n.status = 'active' AND n.fault IS NULL AND (n.broker_state IS NULL OR n.broker_state = 'launching')",
        `due.at <= ${until}`,
      ],
      values: [graceMs, now],
    })
  }

  /** Waits whose end by the clock nobody attended to, though it was due before then. */
  waits(reader: Reader, view: LedgerView, due: Date): Promise<WaitRow[]> {
    return read<WaitRow>(reader, view, {
      at: 'n.wait_until',
      id: "('wait_' || n.id)",
      columns: 'n.wait_reason',
      from: 'canvas.nodes n',
      conditions: ["n.status = 'idle' AND n.wait_until IS NOT NULL AND n.wait_until <= $2"],
      values: [due],
    })
  }

  /** Roots that were to take the place of another one and died over it. One that a person called off was canceled. */
  relaunches(reader: Reader, view: LedgerView): Promise<RelaunchRow[]> {
    return read<RelaunchRow>(reader, view, {
      at: 'ended.at',
      id: "('relaunch_' || n.id)",
      columns: "n.created_at AS planned_at, n.fault ->> 'message' AS message, n.succeeds, old.status AS old_status",
      from: `canvas.nodes n CROSS JOIN LATERAL (SELECT ${moved} AS at) ended
        LEFT JOIN canvas.nodes old ON old.id = n.succeeds`,
      conditions: ["n.succession = 'failed' AND n.status = 'dead'"],
    })
  }

  /** Background jobs of which nobody knows how they ended. */
  jobs(reader: Reader, view: LedgerView): Promise<JobRow[]> {
    return read<JobRow>(reader, view, {
      at: 'j.ended_at',
      id: 'j.id',
      columns: 'j.command, j.error, j.started_at',
      from: 'canvas.jobs j JOIN canvas.nodes n ON n.id = j.node_id',
      conditions: ["j.status = 'lost'"],
    })
  }

  /** Questions that nobody answered in time. */
  expired(reader: Reader, view: LedgerView): Promise<ExpiredRow[]> {
    return read<ExpiredRow>(reader, view, {
      at: 'q.resolved_at',
      id: 'q.id',
      columns: 'q.title, q.deadline, q.pages, q.response',
      from: 'canvas.human_requests q LEFT JOIN canvas.nodes n ON n.id = q.node_id',
      conditions: ["q.status = 'expired'"],
      about: { node: 'q.node_id', app: 'q.app_id' },
      visible: (put) => seen(view.horizon, put),
      shown: 'q.node_id, n.name, q.app_id, n.status',
    })
  }

  /** Answers that lie unread in the box of a node that has ended. */
  unheard(reader: Reader, view: LedgerView): Promise<UnheardRow[]> {
    return read<UnheardRow>(reader, view, {
      at: 'm.created_at',
      id: 'm.id',
      columns: 'q.id AS request_id, q.title, q.resolved_at',
      from: `canvas.mail m JOIN canvas.nodes n ON n.id = m.node_id
        CROSS JOIN LATERAL (SELECT r.id, r.title, r.status, r.resolved_at FROM canvas.human_requests r
          WHERE r.node_id = m.node_id AND r.resolved_at <= m.created_at ORDER BY r.resolved_at DESC LIMIT 1) q`,
      conditions: [
        "m.kind = 'answer' AND m.acknowledged_at IS NULL AND n.status IN ('done', 'dead', 'canceled')",
        "q.status IN ('answered', 'dismissed')",
      ],
    })
  }
}

interface Statement {
  readonly at: string
  readonly id: string
  readonly columns: string
  readonly from: string
  /** Begin at `$2` where they have values: `$1` is the limit. */
  readonly conditions: readonly string[]
  readonly values?: readonly unknown[]
  readonly order?: string
  readonly shown?: string
  readonly about?: Pick<Columns, 'node' | 'app'>
  readonly visible?: (put: (value: unknown) => string) => string[]
}

const read = <R>(reader: Reader, view: LedgerView, statement: Statement): Promise<R[]> => {
  const { at, id, columns, from, conditions, values: given = [], shown = node } = statement
  const { order = `${at} DESC, ${id} COLLATE "C" DESC`, about = { node: 'n.id', app: 'n.app_id' } } = statement
  const values: unknown[] = [view.limit, ...given]
  const put = (value: unknown): string => `$${values.push(value)}`
  const visible = statement.visible ? statement.visible(put) : within(view.horizon, put, 'n')
  const where = [...conditions, ...visible, ...placed(view, put, { at, id, ...about })].join(' AND ')
  return reader.query<R>(
    `SELECT ${at} AS at, ${id} AS id, ${shown}, ${columns} FROM ${from} WHERE ${where} ORDER BY ${order} LIMIT $1`,
    values,
  )
}
