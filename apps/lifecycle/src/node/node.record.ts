import type {
  ExecSpec,
  Fault,
  Node,
  NodeIntent,
  NodeStatus,
  Strength,
  Succession,
} from '#common/contract/node.schema.js'
import type { Persona } from '#common/contract/persona.schema.js'
import { isoTime } from '#common/kernel/clock.js'
import { toWorktree, type WorktreeRecord } from '../worktree/worktree.record.js'

/** A row of canvas.nodes. */
export interface NodeRecord {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly kind: string
  readonly mode: 'base' | 'orchestrator'
  readonly lifecycle: 'terminal' | 'resident'
  readonly status: NodeStatus
  readonly intent: NodeIntent | null
  readonly parent_id: string | null
  readonly root_id: string
  /** How many nodes stand behind its making: 0 unless a node made it, also where that made a root. */
  readonly depth: number
  readonly spawned_by: string | null
  readonly forked_from: { node_id: string; turn: number } | null
  readonly engine: string
  readonly exec: ExecSpec | null
  readonly cwd: string
  readonly worktree: WorktreeRecord | null
  readonly model: { strength: Strength; override?: string }
  readonly scopes: string[]
  readonly scopes_explicit: boolean
  readonly principal: string
  readonly app_id: string | null
  readonly profile: string | null
  readonly run_id: string | null
  readonly env_profile: string | null
  readonly cycles: number
  readonly generation: number
  readonly engagement: number
  readonly turn: number
  readonly broker_state: 'launching' | 'bound' | 'stopping' | null
  readonly broker_host_id: string | null
  readonly broker_pid: number | null
  readonly broker_started_at: Date | null
  readonly broker_bound_at: Date | null
  readonly broker_heartbeat_at: Date | null
  readonly launched_at: Date | null
  readonly next_launch_at: Date | null
  /** When a process of this node was lost while it owed work, within the launch window. */
  readonly launches: Date[]
  readonly interrupt_request: number
  readonly result_schema: Record<string, unknown> | null
  /** The role that a file of the owner's gave it when it was made. */
  readonly persona: Persona | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_tokens: number
  readonly cost_usd: number
  readonly context_tokens: number
  /** `provider/model` of its last answer. */
  readonly answered_by: string | null
  readonly context: number
  /** Where the present context begins in the journal. */
  readonly context_from: number
  /** Entries of the journal that a fork was made with. */
  readonly copied_ord: number
  /** What it left to its next context. */
  readonly yield_note: string | null
  /** Since when a fresh context is owed; set exactly while `intent` is `refresh`. */
  readonly refresh_asked_at: Date | null
  readonly waiting_since: Date | null
  readonly wait_until: Date | null
  readonly wait_reason: string | null
  readonly succeeds: string | null
  readonly succession: Succession | null
  readonly fault: Fault | null
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
}

/** The fields that every new node begins with. */
export const blank = {
  description: null,
  intent: null,
  forked_from: null,
  worktree: null,
  run_id: null,
  env_profile: null,
  turn: 0,
  broker_host_id: null,
  broker_pid: null,
  broker_started_at: null,
  broker_bound_at: null,
  broker_heartbeat_at: null,
  launched_at: null,
  next_launch_at: null,
  launches: [],
  interrupt_request: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  cost_usd: 0,
  context_tokens: 0,
  answered_by: null,
  context: 1,
  context_from: 1,
  copied_ord: 0,
  yield_note: null,
  refresh_asked_at: null,
  waiting_since: null,
  wait_until: null,
  wait_reason: null,
  succeeds: null,
  succession: null,
  fault: null,
  version: 1,
} as const satisfies Partial<NodeRecord>

/** What is known of a node besides its row. */
export interface NodeSights {
  readonly streaming: boolean
  /** Entries of the attention; where nobody counted them, its fault alone. */
  readonly attention?: number | undefined
  /** When its host last said that the broker lives. */
  readonly heartbeatAt: number | null
}

const brokerOf = (row: NodeRecord, heartbeatAt: number | null): Node['broker'] => {
  if (row.broker_state !== 'bound' || row.broker_pid === null) return null
  const started = row.broker_started_at ?? row.updated_at
  return {
    host_id: row.broker_host_id ?? '',
    pid: row.broker_pid,
    started_at: started.toISOString(),
    heartbeat_at: isoTime(heartbeatAt ?? (row.broker_bound_at ?? started).getTime()),
  }
}

const waitingOf = (row: NodeRecord): Node['waiting'] =>
  row.waiting_since && {
    since: row.waiting_since.toISOString(),
    until: row.wait_until?.toISOString() ?? null,
    reason: row.wait_reason,
  }

export const usageOf = (row: NodeRecord): Node['usage'] => ({
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cached_tokens: row.cached_tokens,
  cost_usd: row.cost_usd,
  context_tokens: row.context_tokens,
})

/** The node as the contract shows it. */
export const toNode = (row: NodeRecord, sights: NodeSights): Node => ({
  id: row.id,
  name: row.name,
  description: row.description,
  kind: row.kind,
  mode: row.mode,
  lifecycle: row.lifecycle,
  status: row.status,
  intent: row.intent,
  parent_id: row.parent_id,
  root_id: row.root_id,
  spawned_by: row.spawned_by,
  forked_from: row.forked_from,
  succeeds: row.succeeds,
  succession: row.succession,
  engine: row.engine,
  exec: row.exec,
  cwd: row.cwd,
  worktree: row.worktree && toWorktree(row.worktree),
  model: row.model,
  scopes: row.scopes,
  scopes_explicit: row.scopes_explicit,
  app_id: row.app_id,
  profile: row.profile,
  env_profile: row.env_profile,
  run_id: row.run_id,
  cycles: row.cycles,
  generation: row.generation,
  engagement: row.engagement,
  context: row.context,
  waiting: waitingOf(row),
  broker: brokerOf(row, sights.heartbeatAt),
  result_schema: row.result_schema,
  usage: usageOf(row),
  answered_by: row.answered_by,
  fault: row.fault,
  streaming: sights.streaming,
  attention_count: sights.attention ?? (row.fault ? 1 : 0),
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
