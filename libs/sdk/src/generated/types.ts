// Made from the contract by `npm run gen`. Do not edit.

/** The event is durable, and goes to whoever watches the object. */
export interface Acceptance {
  event_id: string
  /** Position among the object's own events; at least 1. */
  seq: number
  /** RFC 3339 time in UTC with milliseconds. */
  accepted_at: string
  /** Whether it was accepted before, under the same `dedupe_key`. */
  duplicate: boolean
}

export interface Access {
  /** Where the owner’s API is served besides its loopback address and its socket. */
  listen: {
    address: string
    tls: boolean
    state: 'open' | 'failed'
    /** Why it failed; of an open one what its owner must know, as that nothing encrypts it. */
    detail: string | null
  }[]
  /** Addresses of the owner’s API, the nearest first. */
  base_urls: string[]
  app_base_url: string
  /** Host names that are answered, besides loopback and `listen`. */
  hosts: string[]
  /** Pages of these origins may call the owner’s API from a browser. */
  origins: string[]
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface AccessUpdateBody {
  /** At most 10 entries. */
  listen?: string[]
  /** At most 50 entries. */
  hosts?: string[]
  /** At most 50 entries. */
  origins?: string[]
}

export interface ActorRef {
  kind: 'owner' | 'app' | 'run' | 'node' | 'pub' | 'system'
  id: string | null
}

export interface App {
  id: string
  name: string
  description: string | null
  /** Pages of these origins may call the application listener. */
  origins: string[]
  grant: Grant
  /** Tokens that work now. */
  tokens: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface AppsCreateBody {
  name: string
  /** 1 to 500 characters. */
  description?: string
  /** At most 50 entries; default []. */
  origins?: string[]
  /** Its grant; nothing unless given; at most 200 entries; default []. */
  scopes?: string[]
  /** Default null. */
  profiles?: string[] | null
}

export interface AppsGrantSetBody {
  /** At most 200 entries. */
  scopes: string[]
  /** Default null. */
  profiles?: string[] | null
  /** Only if this is its version; at least 1. */
  if_match?: number
}

export interface AppsListResponse {
  data: App[]
  next_cursor: string | null
  has_more: boolean
}

export interface AppsUpdateBody {
  name?: string
  description?: string | null
  /** At most 50 entries. */
  origins?: string[]
}

export interface Assignment {
  node_id: string
  generation: number
  engagement: number
  name: string
  kind: string
  mode: 'base' | 'orchestrator'
  lifecycle: 'terminal' | 'resident'
  engine: string
  exec: ExecSpec | null
  cwd: string
  model: {
    strength: string
    override?: string
  }
  scopes: string[]
  result_schema: Record<string, unknown> | null
  parent: {
    id: string
    name: string
  } | null
  /** How many nodes stand behind its making; 0 unless a node made it. */
  depth: number
  persona: Persona | null
  /** Whether this engagement has its final report already. */
  reported: boolean
  context: number
  /** The last turn that was begun; the next one has a higher number. */
  turn: number
  forked_from: {
    node_id: string
    turn: number
  } | null
  /** Where the present context begins in the journal; what stands before is history. */
  first_ord: number
  next_ord: number
  /** The first page of the present context, from `first_ord` on, oldest first; the rest up to `next_ord` is read by pages. */
  journal: JournalRecord[]
  /** The first batch of mail, leased to this generation for 30 s. */
  mail: MailEntry[]
}

export interface Attachment {
  id: string
  name: string
  content_type: string
  /** At least 0. */
  bytes: number
}

export interface AttachmentContent {
  name: string
  content_type: string
  base64: string
}

export interface AttachmentInput {
  /** 1 to 128 characters. */
  name: string
  /** Found out of the content for images; else text/plain for text, application/octet-stream for base64; at most 128 characters. */
  content_type?: string
  /** At most 4194304 characters. */
  text?: string
  /** At most 5592408 characters. */
  base64?: string
}

export interface Attention {
  items: AttentionItem[]
  next_cursor: string | null
  has_more: boolean
}

export interface AttentionCounts {
  /** For every id that was asked; 0 also for one that is not there, or not yours. */
  counts: Record<string, number>
}

export interface AttentionCountsBody {
  /** At most 500 entries. */
  ids: string[]
}

export interface AttentionItem {
  type: 'fault' | 'hanging' | 'ticket' | 'schedule' | 'object'
  /** The node that it is about; null where no node asked or armed it. */
  node_id: string | null
  /** Of a ticket: the request that is open. */
  request_id: string | null
  /** Of a schedule that was paused since its work fails. */
  cron_id: string | null
  /** Of a custom object whose receiver was paused since it fails. */
  object_id: string | null
  node_name: string | null
  node_kind: string | null
  status: 'active' | 'idle' | 'done' | 'dead' | 'canceled' | null
  /** RFC 3339 time in UTC with milliseconds. */
  since: string
  message: string
  fault: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other' | null
  /** When it is tried again by itself. */
  retry_at: string | null
  /** What a person can do about it. */
  remedy: string
}

export interface AuditEntry {
  /** At least 1. */
  seq: number
  /** RFC 3339 time in UTC with milliseconds. */
  at: string
  actor: {
    kind: 'owner' | 'app' | 'run' | 'node' | 'pub' | 'system' | 'nobody'
    principal: string
    token_id: string | null
  }
  /** Name of the operation; null where no route was met. */
  operation: string | null
  /** The path of the request, without its query; cut where it is long, and without tokens. */
  resource: string | null
  /** `allowed` says nothing of how the request ended. */
  decision: 'allowed' | 'denied'
  /** Why it was denied. */
  code: string | null
  listener: 'owner' | 'app'
  remote: string | null
  request_id: string
  /** How many alike this line stands for; at least 1. */
  repeated: number
  /** SHA-256 in hex over the 32 bytes of the hash of the line before and the UTF-8 of this line without `hash` as RFC 8785 writes it. */
  hash: string
}

export interface AuditPage {
  data: AuditEntry[]
  next_cursor: string | null
  has_more: boolean
  /** The last line that was pruned: the first kept one follows its hash. */
  anchor: {
    /** At least 0. */
    seq: number
    hash: string
  }
  /** The newest line. */
  head: {
    /** At least 0. */
    seq: number
    hash: string
  }
}

export interface BashCommand {
  /** 1 to 4096 characters. */
  cwd: string
  /** What `bash -c` is to run; nothing is added to it; 1 to 131072 characters. */
  command: string
  /** Milliseconds, at most 600,000; then all that it started is ended; 1 to 600000; default 120000. */
  timeout?: number
  /** Variables besides those that every command gets. */
  env?: Record<string, string>
  /** At most 1048576 characters. */
  stdin?: string
}

export interface BashResult {
  /** A value, whatever it is; null when a signal ended it. */
  exit_code: number | null
  /** The signal that ended it, like `SIGKILL`. */
  signal: string | null
  /** As UTF-8; bytes that are none show as U+FFFD. */
  stdout: string
  stderr: string
  /** Whether the middle of an output was left out, which a line in it says. */
  truncated: boolean
  duration_ms: number
  timed_out: boolean
}

export type BrokerSignal = {
  type: 'mail'
  /** Some of it steers: take it at the next step. */
  urgent: boolean
  critical: boolean
} | {
  type: 'interrupt'
  request: number
} | {
  type: 'stop'
  reason: string
} | {
  type: 'changed'
  name: string
  kind: string
  mode: 'base' | 'orchestrator'
  lifecycle: 'terminal' | 'resident'
  model: {
    strength: string
    override?: string
  }
  persona: Persona | null
}

export interface CallUsage {
  input_tokens: number
  output_tokens: number
  cached_tokens: number
  cost_usd: number
}

export interface CancelResult {
  canceled: string[]
  spared: string[]
}

export interface CanvasEdge {
  type: 'spine' | 'subscription'
  /** The parent, or who subscribes. */
  from: string
  /** The child, or who is watched. */
  to: string
  /** Of a subscription. */
  mode: 'active' | 'passive' | null
}

export interface CanvasEventsResponse {
  data: NodeEvent[]
  next_cursor: string | null
  has_more: boolean
}

export interface CanvasHistoryReadResponse {
  data: HistoryEntry[]
  next_cursor: string | null
  has_more: boolean
}

/** Something outside that emits events or wants them. */
export interface CanvasObject {
  ref: string
  name: string
}

export interface CanvasRosterResponse {
  data: RosterEntry[]
  next_cursor: string | null
  has_more: boolean
}

export interface CanvasSnapshot {
  /** RFC 3339 time in UTC with milliseconds. */
  generated_at: string
  nodes: RosterEntry[]
  objects: CanvasObject[]
  /** Those that lead to a node of this page. */
  edges: CanvasEdge[]
  /** Whether there are more nodes than these: go on with `next_cursor`. */
  truncated: boolean
  next_cursor: string | null
  /** Of all that the caller may see here, whatever the page. */
  totals: {
    nodes: number
    by_status: Record<string, number>
  }
}

export interface CanvasSubscriptionsDeleteResponse {
  /** False when it did not watch it. */
  removed: boolean
}

export interface CanvasSubscriptionsListResponse {
  data: Subscription[]
  next_cursor: string | null
  has_more: boolean
}

export interface CanvasWatchesDeleteResponse {
  /** False when it did not watch it. */
  removed: boolean
}

export interface CanvasWatchesListResponse {
  data: Watch[]
  next_cursor: string | null
  has_more: boolean
}

export type ContentPart = {
  type: 'text'
  text: string
  provider_metadata?: unknown
} | {
  type: 'reasoning'
  text: string
  provider_metadata?: unknown
} | {
  type: 'image'
  content_type: string
  base64: string
} | {
  type: 'tool_call'
  call_id: string
  name: string
  input: unknown
  /** Why the input could not be read, when the model sent none that fits. */
  invalid?: string
  provider_metadata?: unknown
} | {
  type: 'tool_result'
  call_id: string
  name: string
  output: string
  /** Default false. */
  failed: boolean
  /** At most 8 entries. */
  images?: {
    content_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
    /** At most 5242880 characters. */
    base64: string
  }[]
}

export type ContentPartInput = {
  type: 'text'
  text: string
  provider_metadata?: unknown
} | {
  type: 'reasoning'
  text: string
  provider_metadata?: unknown
} | {
  type: 'image'
  content_type: string
  base64: string
} | {
  type: 'tool_call'
  call_id: string
  name: string
  input: unknown
  /** Why the input could not be read, when the model sent none that fits. */
  invalid?: string
  provider_metadata?: unknown
} | {
  type: 'tool_result'
  call_id: string
  name: string
  output: string
  /** Default false. */
  failed?: boolean
  /** At most 8 entries. */
  images?: {
    content_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
    /** At most 5242880 characters. */
    base64: string
  }[]
}

export interface ConversationMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: ContentPartInput[]
}

export type CredentialInstall = {
  kind: 'api_key'
  /** 1 to 16384 characters. */
  api_key: string
  /** At most 128 characters. */
  label?: string
} | {
  kind: 'oauth'
  /** 1 to 16384 characters. */
  access_token: string
  /** 1 to 16384 characters. */
  refresh_token?: string
  /** RFC 3339 time in UTC with milliseconds. */
  expires_at?: string
  /** At most 128 characters. */
  label?: string
}

export interface Cron {
  id: string
  name: string
  owner_node_id: string | null
  app_id: string | null
  created_by: ActorRef
  schedule: CronSchedule
  action: CronAction
  missed: 'skip' | 'once' | 'all'
  catchup_window_s: number
  overlap: 'allow' | 'skip' | 'queue'
  jitter_s: number
  start_at: string | null
  end_at: string | null
  max_failures: number
  delete_after_run: boolean
  status: 'active' | 'paused' | 'completed' | 'failed'
  pause_reason: 'asked' | 'failures' | null
  /** At least 0. */
  consecutive_failures: number
  /** Slot and jitter of the next one; null unless it is active. */
  next_fire_at: string | null
  /** The newest slot that was fired, with the status of the work that it started. */
  last_fire: CronFire | null
  /** At least 1. */
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

/** What each firing does, with the authority of who made the schedule. */
export type CronAction = {
  type: 'message'
  node_id: string
  /** At least 1 characters. */
  body: string
  /** Default "normal". */
  tier: 'critical' | 'urgent' | 'normal' | 'deferred'
} | {
  type: 'create_node'
  /** What the node is to do; at most 256 KiB; at least 1 characters. */
  prompt: string
  /** Role of the node, one of `GET /v1/kinds`; `general` unless given. */
  kind?: string
  mode?: 'base' | 'orchestrator'
  /** `terminal` owes a final report; `resident` stays between messages. A root is resident, a child terminal, unless given. */
  lifecycle?: 'terminal' | 'resident'
  /** 1 to 128 characters. */
  name?: string
  /** Spine parent; a node's own token makes children of itself unless it says `root`. */
  parent_id?: string
  root?: boolean
  /** Working directory; the parent's unless given. A root must name one; 1 to 4096 characters. */
  cwd?: string
  worktree?: WorktreeCreate
  model?: ModelChoice
  /** At most 200 entries. */
  scopes?: string[]
  /** A JSON Schema (draft 2020-12). */
  result_schema?: Record<string, unknown>
  /** `loop`: the built-in agent. `exec`: a program of the caller, given as `exec.argv`; needs no model. */
  engine?: string
  exec?: ExecSpec
  /** A profile, whose defaults stand where this body says nothing. */
  env_profile?: string
} | {
  type: 'bash'
  /** 1 to 4096 characters. */
  cwd: string
  /** What `bash -c` is to run; nothing is added to it; 1 to 131072 characters. */
  command: string
  /** Milliseconds, at most 600,000; then all that it started is ended; 1 to 600000; default 120000. */
  timeout: number
  /** Variables besides those that every command gets. */
  env?: Record<string, string>
  /** At most 1048576 characters. */
  stdin?: string
} | {
  type: 'start_run'
} | {
  type: 'publish'
  ref: ObjectRef
  event: string
  payload: unknown
}

/** What each firing does, with the authority of who made the schedule. */
export type CronActionInput = {
  type: 'message'
  node_id: string
  /** At least 1 characters. */
  body: string
  /** Default "normal". */
  tier?: 'critical' | 'urgent' | 'normal' | 'deferred'
} | {
  type: 'create_node'
  /** What the node is to do; at most 256 KiB; at least 1 characters. */
  prompt: string
  /** Role of the node, one of `GET /v1/kinds`; `general` unless given. */
  kind?: string
  mode?: 'base' | 'orchestrator'
  /** `terminal` owes a final report; `resident` stays between messages. A root is resident, a child terminal, unless given. */
  lifecycle?: 'terminal' | 'resident'
  /** 1 to 128 characters. */
  name?: string
  /** Spine parent; a node's own token makes children of itself unless it says `root`. */
  parent_id?: string
  root?: boolean
  /** Working directory; the parent's unless given. A root must name one; 1 to 4096 characters. */
  cwd?: string
  worktree?: WorktreeCreateInput
  model?: ModelChoiceInput
  /** At most 200 entries. */
  scopes?: string[]
  /** A JSON Schema (draft 2020-12). */
  result_schema?: Record<string, unknown>
  /** `loop`: the built-in agent. `exec`: a program of the caller, given as `exec.argv`; needs no model. */
  engine?: string
  exec?: ExecSpecInput
  /** A profile, whose defaults stand where this body says nothing. */
  env_profile?: string
} | {
  type: 'bash'
  /** 1 to 4096 characters. */
  cwd: string
  /** What `bash -c` is to run; nothing is added to it; 1 to 131072 characters. */
  command: string
  /** Milliseconds, at most 600,000; then all that it started is ended; 1 to 600000; default 120000. */
  timeout?: number
  /** Variables besides those that every command gets. */
  env?: Record<string, string>
  /** At most 1048576 characters. */
  stdin?: string
} | {
  type: 'start_run'
} | {
  type: 'publish'
  ref: ObjectRef
  event: string
  payload: unknown
}

export interface CronCreate {
  /** 1 to 128 characters. */
  name?: string
  schedule: CronScheduleInput
  action: CronActionInput
  /** The node that it belongs to and acts as; a node's own token makes its own. */
  owner_node_id?: string
  /** What becomes of slots that nobody was there to fire: none is made up for, one for all of them, or each (the newest 100); default "once". */
  missed?: 'skip' | 'once' | 'all'
  /** Slots that are older than this are not made up for; at most 604800; default 3600. */
  catchup_window_s?: number
  /** At a slot while the work of the one before still goes on: start another, leave it out, or wait; default "skip". */
  overlap?: 'allow' | 'skip' | 'queue'
  /** Each slot is fired up to so many seconds later, always the same for the same slot; at most 86400; default 0. */
  jitter_s?: number
  /** No slot before it. */
  start_at?: string
  /** No slot after it. */
  end_at?: string
  /** Failures in a row that pause it; 1 to 100; default 3. */
  max_failures?: number
  /** Goes after its first success; default false. */
  delete_after_run?: boolean
}

export interface CronFire {
  cron_id: string
  /** The moment that the schedule names; of one by hand: when it was asked for. */
  slot: string
  trigger: 'schedule' | 'manual'
  status: 'queued' | 'starting' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'unknown' | 'skipped' | 'missed' | 'coalesced'
  cause: 'late' | 'overlap' | 'queue_full' | 'paused' | 'policy' | 'window' | 'cap' | 'coalesced' | 'refused' | 'work_failed' | 'work_canceled' | 'outcome_unknown' | 'cron_ended' | null
  /** How many slots in a row this line stands for; at least 1. */
  slots: number
  /** The last of them. */
  last_slot: string
  /** The slot and its jitter. */
  due_at: string
  /** When it was fired; null when it never was. */
  fired_at: string | null
  /** From `due_at` to `fired_at`. */
  lateness_ms: number | null
  ended_at: string | null
  /** The node whose work it is. */
  node_id: string | null
  message_id: string | null
  run_id: string | null
  error: FireError | null
  /** Of a command. */
  exit_code: number | null
  /** The end of what a command wrote. */
  output: string | null
}

/** When it fires: by a calendar and its clock, at a fixed distance, or once. */
export type CronSchedule = {
  /** Five fields (minute, hour, day of month, month, day of week), or one of @yearly @annually @monthly @weekly @daily @midnight @hourly; 1 to 200 characters. */
  cron: string
  /** IANA time zone; 1 to 64 characters; default "UTC". */
  tz: string
} | {
  /** Seconds from one slot to the next, at least 60; 1 to 31622400. */
  every: number
} | {
  /** The one moment. */
  at: string
}

/** When it fires: by a calendar and its clock, at a fixed distance, or once. */
export type CronScheduleInput = {
  /** Five fields (minute, hour, day of month, month, day of week), or one of @yearly @annually @monthly @weekly @daily @midnight @hourly; 1 to 200 characters. */
  cron: string
  /** IANA time zone; 1 to 64 characters; default "UTC". */
  tz?: string
} | {
  /** Seconds from one slot to the next, at least 60; 1 to 31622400. */
  every: number
} | {
  /** The one moment. */
  at: string
}

export interface CronTime {
  /** RFC 3339 time in UTC with milliseconds. */
  slot: string
  /** The same moment in the schedule's zone, with its offset. */
  local: string
  /** The slot and its jitter. */
  due_at: string
}

export interface CronsDeleteResponse {
  deleted: boolean
}

export interface CronsFiresListResponse {
  data: CronFire[]
  next_cursor: string | null
  has_more: boolean
}

export interface CronsListResponse {
  data: Cron[]
  next_cursor: string | null
  has_more: boolean
}

export interface CronsNextResponse {
  data: CronTime[]
}

export interface CronsPokeResponse {
  /** Timers that were set. */
  armed: number
  /** Schedules that were due and not fired yet. */
  due: number
}

export interface CronsPreviewBody {
  schedule: CronScheduleInput
  /** No slot before it. */
  start_at?: string
  /** No slot after it. */
  end_at?: string
  /** 1 to 100; default 10. */
  count?: number
}

export interface CustomObject {
  id: string
  name: string
  description: string
  catalog: DeclaredEvent[]
  /** Raised by each change of the catalog; at least 1. */
  catalog_version: number
  /** To others than the owner: of a `url` its origin, of `argv` its program. */
  receiver: Receiver | null
  receiver_state: ReceiverState | null
  /** How many nodes and objects watch it; at least 0. */
  watchers: number
  /** Events that it has published; at least 0. */
  published: number
  app_id: string | null
  created_by: ActorRef
  /** At least 1. */
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface CustomObjectsAckBody {
  /** 1 to 1000 entries. */
  ids: string[]
}

export interface CustomObjectsAckResponse {
  /** Of these: not acknowledged before; at least 0. */
  acknowledged: number
  /** Ids that are no deliveries of this object. */
  unknown: string[]
}

export type CustomObjectsAsyncapiResponse = Record<string, unknown>

export interface CustomObjectsDeliveriesListResponse {
  data: Delivery[]
  next_cursor: string | null
  has_more: boolean
}

export interface CustomObjectsDeliveriesReplayBody {
  /** Only these; left out: all that are dead; 1 to 1000 entries. */
  ids?: string[]
}

export interface CustomObjectsDeliveriesReplayResponse {
  /** At least 0. */
  replayed: number
}

export interface CustomObjectsEventsListResponse {
  data: ObjectEvent[]
  next_cursor: string | null
  has_more: boolean
}

export interface CustomObjectsListResponse {
  data: CustomObject[]
  next_cursor: string | null
  has_more: boolean
}

export interface CustomObjectsPublishBatchBody {
  /** 1 to 500 entries. */
  events: Published[]
}

export interface CustomObjectsPublishBatchResponse {
  data: Acceptance[]
}

export interface CustomObjectsRotateBody {
  /** Default "publish_token". */
  what?: 'publish_token' | 'signing_secret'
  /** Seconds for which the former one goes on: a token that still works, a signature that is still made; at most 604800; default 0. */
  overlap?: number
}

export interface CustomObjectsRotateResponse {
  /** Publishes events of this object and nothing else. In the first answer alone: a repetition of the request gets null, and a new one by `customObjects.rotate`. */
  publish_token: string | null
  /** Of a `url` receiver: what its deliveries are signed with (Standard Webhooks), in the first answer alone; a new one by `customObjects.rotate`. */
  signing_secret: string | null
}

export interface CustomObjectsTypesResponse {
  typescript: string
}

export interface CustomObjectsUnregisterResponse {
  deleted: boolean
}

export interface CustomObjectsUpdateResponse {
  id: string
  name: string
  description: string
  catalog: DeclaredEvent[]
  /** Raised by each change of the catalog; at least 1. */
  catalog_version: number
  /** To others than the owner: of a `url` its origin, of `argv` its program. */
  receiver: Receiver | null
  receiver_state: ReceiverState | null
  /** How many nodes and objects watch it; at least 0. */
  watchers: number
  /** Events that it has published; at least 0. */
  published: number
  app_id: string | null
  created_by: ActorRef
  /** At least 1. */
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
  /** Of a `url` receiver: what its deliveries are signed with (Standard Webhooks), in the first answer alone; a new one by `customObjects.rotate`. */
  signing_secret: string | null
}

export interface DeclaredEvent {
  event: string
  /** At most 2000 characters; default "". */
  description: string
  /** What a payload must fit; `{}` takes any JSON value; default {}. */
  payload_schema: Record<string, unknown>
}

export interface DeclaredEventInput {
  event: string
  /** At most 2000 characters; default "". */
  description?: string
  /** What a payload must fit; `{}` takes any JSON value; default {}. */
  payload_schema?: Record<string, unknown>
}

export interface Delivery {
  id: string
  /** Id of the object, or of the node, that it goes to. */
  object_ref: string
  /** Id of the object, or of the node, whose event it is. */
  source_ref: string
  /** Null of a node, and of an object that is gone. */
  source_name: string | null
  event_id: string
  event: string
  payload: unknown
  /** Position among the deliveries of this receiver: 1, 2, 3 …; at least 1. */
  seq: number
  /** Tries that failed so far; 0 of a queue; at least 0. */
  attempt: number
  state: 'pending' | 'acked' | 'failed' | 'dead'
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  next_attempt_at: string | null
  /** How the last try failed. */
  last_error: string | null
  /** W3C trace of the publication; null of an event of a node. */
  trace_id: string | null
}

export interface Delta {
  generation: number
  /** Number of the message in progress within the generation. */
  message: number
  channel: 'text' | 'reasoning' | 'tool_input' | 'tool_output' | 'stdout' | 'stderr'
  call_id?: string
  /** Characters of this channel that came before. */
  offset: number
  text: string
}

export interface DeltaBatch {
  /** At most 500 entries. */
  deltas: Delta[]
}

export interface ExecSpec {
  /** The program and its arguments; no shell; 1 to 256 entries. */
  argv: string[]
  /** `jsonl`: the prompt and then each mail as one line of JSON, standard input kept open. `text`: the prompt as it is, then end of file; default "jsonl". */
  stdin: 'jsonl' | 'text'
  env?: Record<string, string>
}

export interface ExecSpecInput {
  /** The program and its arguments; no shell; 1 to 256 entries. */
  argv: string[]
  /** `jsonl`: the prompt and then each mail as one line of JSON, standard input kept open. `text`: the prompt as it is, then end of file; default "jsonl". */
  stdin?: 'jsonl' | 'text'
  env?: Record<string, string>
}

export interface Fault {
  kind: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other'
  message: string
  /** First failure of this kind in a row. */
  since: string
  /** Last failure. */
  last_at?: string
  /** Failures of this kind in a row. */
  tries?: number
  /** When it is tried again at the latest. */
  retry_at?: string
  /** `provider`: tried again as soon as its provider answers. `credential`: as soon as a person has installed one that works. `grant`: as soon as its app is granted again what it runs on. */
  held_for?: 'provider' | 'credential' | 'grant'
}

export interface FileContent {
  /** Where the file really lies, links followed. */
  path: string
  encoding: 'utf8' | 'base64'
  /** The bytes as text, when `encoding` is utf8. A read never ends in the middle of a character. */
  content?: string
  base64?: string
  /** Bytes of the whole file. */
  size: number
  offset: number
  /** Where the next read goes on; null at the end. */
  next_offset: number | null
  /** Whether the file goes on after this. */
  truncated: boolean
  /** RFC 3339 time in UTC with milliseconds. */
  mtime: string
  /** Names this state of the file, for `if_match`. */
  etag: string
}

export interface FileEntry {
  name: string
  /** The bytes of the name, where they are no UTF-8 and `name` shows them only nearly. */
  name_base64?: string
  type: 'file' | 'directory' | 'symlink' | 'other'
  size: number
  /** Permissions, four octal digits. */
  mode: string
  /** RFC 3339 time in UTC with milliseconds. */
  mtime: string
  /** Where a symlink points, as it is written. */
  target?: string
}

export interface FileList {
  path: string
  data: FileEntry[]
  truncated: boolean
  next_cursor: string | null
  has_more: boolean
}

export interface FileWrite {
  /** 1 to 4096 characters. */
  path: string
  /** Text, written as UTF-8; either this or `base64`. */
  content?: string
  /** Bytes in base64 (RFC 4648, with padding). */
  base64?: string
  /** Write only if the file is in the state that this etag names; `*`: only if there is one; at most 128 characters. */
  if_match?: string
  /** Write only if there is no file yet. */
  create_only?: boolean
  /** Make missing directories on the way. */
  parents?: boolean
}

export interface FileWritten {
  path: string
  size: number
  created: boolean
  /** RFC 3339 time in UTC with milliseconds. */
  mtime: string
  etag: string
}

export interface FireError {
  /** A code of the errors page, or the kind of the node's fault. */
  code: string
  message: string
}

export interface Focus {
  pane: string
  node_id: string
  /** What shows it there, as that calls itself. */
  viewer: string | null
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  expires_at: string
}

export interface FocusesListResponse {
  data: Focus[]
}

export interface FocusesSetBody {
  node_id: string
  /** 1 to 128 characters. */
  viewer?: string
  /** Seconds until it is forgotten; 1 to 604800; default 86400. */
  ttl?: number
}

export interface Grant {
  app_id: string
  user_id: string
  scopes: string[]
  /** Profiles of the app that it is for; null: all. */
  profiles: string[] | null
  /** Grows with every change; at least 1. */
  version: number
  status: 'active' | 'revoked'
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface GrepAnswer {
  /** The newest text first, its lines in order. */
  matches: GrepMatch[]
  /** Go on from here; null when all was looked at. */
  next_cursor: string | null
  /** Why it stopped before the end: enough lines, or the bound of one request. */
  cut: 'limit' | 'time' | 'bytes' | null
  scanned_bytes: number
  indexing: boolean
}

export interface GrepBody {
  /** A regular expression in the syntax of RE2, for one line, in either case; 1 to 500 characters. */
  pattern: string
  /** Only this node. */
  node?: string
  /** Only nodes at or below this one. */
  under?: string
  /** 1 to 6 entries. */
  kinds?: ('user' | 'assistant' | 'reasoning' | 'tool' | 'report' | 'mail')[]
  /** Lines at most; 1 to 500; default 100. */
  limit?: number
  /** Lines shown around each; at most 5; default 0. */
  context?: number
  /** At most 512 characters. */
  after?: string
}

export interface GrepMatch {
  node_id: string
  node_name: string
  kind: 'user' | 'assistant' | 'reasoning' | 'tool' | 'report' | 'mail'
  turn: number | null
  step: number | null
  /** Name of the tool, kind of the report, sender of the mail. */
  label: string | null
  ref: number
  /** RFC 3339 time in UTC with milliseconds. */
  at: string
  /** Number of the line in its text, from 1. */
  line: number
  /** The line; a long one is cut around what was found. */
  text: string
  before: string[]
  after: string[]
}

export interface HealthGetResponse {
  status: 'ok'
  version: string
}

export interface HistoryEntry {
  ref: number
  turn: number
  step: number | null
  kind: 'turn' | 'user' | 'assistant' | 'reasoning' | 'tool' | 'report' | 'mail'
  label: string | null
  text: string
  /** RFC 3339 time in UTC with milliseconds. */
  at: string
}

export interface HistoryStats {
  total: {
    /** Nodes that did any of this. */
    nodes: number
    turns: number
    /** Calls of models. */
    calls: number
    input_tokens: number
    output_tokens: number
    cached_tokens: number
    cost_usd: number
  }
  groups: {
    /** The day, model, application or kind; null: none. */
    key: string | null
    /** Nodes that did any of this. */
    nodes: number
    turns: number
    /** Calls of models. */
    calls: number
    input_tokens: number
    output_tokens: number
    cached_tokens: number
    cost_usd: number
  }[]
  /** Whether there are more groups than the thousand shown. */
  truncated: boolean
}

export interface HumanOption {
  id: string
  /** 1 to 200 characters. */
  label: string
  /** At most 2000 characters. */
  description?: string
}

export type HumanOptionInput = HumanOption

export interface HumanPage {
  id: string
  /** `decision` must be decided; `notify` and `error` must be acknowledged; `context` only informs. */
  kind: 'decision' | 'notify' | 'context' | 'error'
  /** 1 to 200 characters. */
  title: string
  /** 1 to 200 characters. */
  subtitle?: string
  /** Markdown; at most 16384 characters. */
  body?: string
  /** At most 50 entries; default []. */
  options: HumanOption[]
  /** Default false. */
  multiSelect: boolean
  /** Default false. */
  allowFreetext: boolean
  /** 1 to 200 characters. */
  freetextLabel?: string
  /** What stands unless the person says otherwise. */
  preAnswered?: {
    selectedOptionId?: string
    /** At most 50 entries. */
    selectedOptionIds?: string[]
    /** At most 16384 characters. */
    freetext?: string
  }
}

export interface HumanPageInput {
  id: string
  /** `decision` must be decided; `notify` and `error` must be acknowledged; `context` only informs. */
  kind: 'decision' | 'notify' | 'context' | 'error'
  /** 1 to 200 characters. */
  title: string
  /** 1 to 200 characters. */
  subtitle?: string
  /** Markdown; at most 16384 characters. */
  body?: string
  /** At most 50 entries; default []. */
  options?: HumanOptionInput[]
  /** Default false. */
  multiSelect?: boolean
  /** Default false. */
  allowFreetext?: boolean
  /** 1 to 200 characters. */
  freetextLabel?: string
  /** What stands unless the person says otherwise. */
  preAnswered?: {
    selectedOptionId?: string
    /** At most 50 entries. */
    selectedOptionIds?: string[]
    /** At most 16384 characters. */
    freetext?: string
  }
}

export interface HumanReasonBody {
  /** 1 to 2000 characters. */
  reason?: string
}

export interface HumanRequest {
  id: string
  kind: 'deck'
  title: string
  subtitle: string | null
  pages: HumanPage[]
  status: 'pending' | 'answered' | 'dismissed' | 'canceled' | 'expired'
  node_id: string | null
  app_id: string | null
  asked_by: ActorRef
  deadline: string | null
  default: HumanResponseItem[] | null
  waiting_cost: string | null
  dedupe_key: string | null
  /** What was answered; of one that has expired: what silence decided. */
  response: HumanResponseItem[] | null
  /** Why it was dismissed or canceled. */
  reason: string | null
  resolved_by: ActorRef | null
  resolved_at: string | null
  /** At least 1. */
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface HumanRequestCreate {
  /** Default "deck". */
  kind?: 'deck'
  /** 1 to 200 characters. */
  title: string
  /** 1 to 200 characters. */
  subtitle?: string
  /** 1 to 20 entries. */
  pages: HumanPageInput[]
  /** After it nobody can answer any more: `default` stands, or it has expired unanswered. */
  deadline?: string
  /** What silence decides; needs a `deadline`; at most 20 entries. */
  default?: HumanResponseItemInput[]
  /** What it costs to wait, for the person to see; at most 500 characters. */
  waiting_cost?: string
  /** Who is told the answer; a node's own token asks for itself unless it says otherwise. */
  node_id?: string
  /** While a request with this key of yours is open, asking again answers that one; 1 to 200 characters. */
  dedupe_key?: string
}

export interface HumanRequestReplace {
  /** 1 to 200 characters. */
  title: string
  /** 1 to 200 characters. */
  subtitle?: string
  /** 1 to 20 entries. */
  pages: HumanPageInput[]
  /** After it nobody can answer any more: `default` stands, or it has expired unanswered. */
  deadline?: string
  /** What silence decides; needs a `deadline`; at most 20 entries. */
  default?: HumanResponseItemInput[]
  /** What it costs to wait, for the person to see; at most 500 characters. */
  waiting_cost?: string
  /** Only when the request is at this version; at least 1. */
  if_match?: number
}

export interface HumanRequestsListResponse {
  data: HumanRequest[]
  next_cursor: string | null
  has_more: boolean
}

export interface HumanRespondBody {
  /** At most 20 entries. */
  response: HumanResponseItemInput[]
  /** Only when the request is at this version; at least 1. */
  if_match?: number
}

export interface HumanResponseItem {
  /** The page. */
  id: string
  selectedOptionId?: string
  /** At most 50 entries. */
  selectedOptionIds?: string[]
  /** At most 16384 characters. */
  freetext?: string
  /** Remarks on options, by their ids. */
  optionComments?: Record<string, string>
}

export type HumanResponseItemInput = HumanResponseItem

export interface Job {
  id: string
  node_id: string
  command: string
  cwd: string
  /** `exited`: it ended by itself, or could not be started (`error`). `killed`: it was canceled. `lost`: its host was restarted, or nobody knows its end. */
  status: 'running' | 'exited' | 'killed' | 'lost'
  exit_code: number | null
  /** The signal that ended it, if it was not canceled. */
  signal: string | null
  /** RFC 3339 time in UTC with milliseconds. */
  started_at: string
  ended_at: string | null
  /** All bytes that it wrote; told once it has ended; at least 0. */
  output_bytes: number
  /** Whether the middle of its output was not kept. */
  truncated: boolean
  /** Why it could not be started, or why it is lost; while it runs, that its host is not heard. */
  error: string | null
}

export interface JobOutput {
  /** Standard output and standard error, as they came. */
  content: string
  /** Byte of the whole output at which `content` begins; at least 0. */
  offset: number
  /** Where to read on; null after the end. */
  next_offset: number | null
  /** Bytes that were written so far; at least 0. */
  size: number
  truncated: boolean
  /** Bytes in the middle that were not kept. */
  omitted: {
    /** At least 0. */
    from: number
    /** At least 0. */
    to: number
  } | null
  running: boolean
}

export interface JobStart {
  /** What bash is to run; 1 to 100000 characters. */
  command: string
  /** Working directory; the node's unless given; 1 to 4096 characters. */
  cwd?: string
}

export type JournalEntry = {
  type: 'turn_started'
  /** 1 to 1000000000. */
  turn: number
  /** At most 500 entries. */
  mail: string[]
  content: ContentPart[]
} | {
  type: 'message'
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
  role: 'user' | 'assistant'
  content: ContentPart[]
  model?: string
  /** Of an answer: tokens of the conversation up to and with it, as its provider counted them, and how many its model takes. */
  context?: {
    /** At most 1000000000. */
    tokens: number
    /** 1 to 1000000000. */
    window: number
  }
} | {
  type: 'compacted'
  /** 1 to 1000000000. */
  turn: number
  /** The step that it made room for; 1 to 1000000000. */
  step: number
  /** Entries right before this one that stay in the conversation as they are; the older ones are made smaller; at least 0. */
  kept: number
  /** Stands for the older entries; null: only the long outputs of tools are left out of them. */
  summary: string | null
  model?: string
} | {
  type: 'tool_started'
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
  call_id: string
  name: string
  input: unknown
} | {
  type: 'tool_ended'
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
  call_id: string
  name: string
  status: 'completed' | 'failed' | 'canceled' | 'outcome_unknown'
  output: string
  /** At most 8 entries. */
  images?: {
    content_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
    /** At most 5242880 characters. */
    base64: string
  }[]
  /** At least 0. */
  duration_ms?: number
  exit_code?: number | null
} | {
  type: 'turn_ended'
  /** 1 to 1000000000. */
  turn: number
  status: 'completed' | 'interrupted' | 'failed'
  fault?: {
    kind: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other'
    /** At most 4000 characters. */
    message: string
    /** At least 0. */
    retry_after_ms?: number
  }
  /** The final report that a terminal node ends with, when the turn gave none itself. */
  final?: string
}

export type JournalEntryInput = {
  type: 'turn_started'
  /** 1 to 1000000000. */
  turn: number
  /** At most 500 entries. */
  mail: string[]
  content: ContentPartInput[]
} | {
  type: 'message'
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
  role: 'user' | 'assistant'
  content: ContentPartInput[]
  model?: string
  /** Of an answer: tokens of the conversation up to and with it, as its provider counted them, and how many its model takes. */
  context?: {
    /** At most 1000000000. */
    tokens: number
    /** 1 to 1000000000. */
    window: number
  }
} | {
  type: 'compacted'
  /** 1 to 1000000000. */
  turn: number
  /** The step that it made room for; 1 to 1000000000. */
  step: number
  /** Entries right before this one that stay in the conversation as they are; the older ones are made smaller; at least 0. */
  kept: number
  /** Stands for the older entries; null: only the long outputs of tools are left out of them. */
  summary: string | null
  model?: string
} | {
  type: 'tool_started'
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
  call_id: string
  name: string
  input: unknown
} | {
  type: 'tool_ended'
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
  call_id: string
  name: string
  status: 'completed' | 'failed' | 'canceled' | 'outcome_unknown'
  output: string
  /** At most 8 entries. */
  images?: {
    content_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
    /** At most 5242880 characters. */
    base64: string
  }[]
  /** At least 0. */
  duration_ms?: number
  exit_code?: number | null
} | {
  type: 'turn_ended'
  /** 1 to 1000000000. */
  turn: number
  status: 'completed' | 'interrupted' | 'failed'
  fault?: {
    kind: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other'
    /** At most 4000 characters. */
    message: string
    /** At least 0. */
    retry_after_ms?: number
  }
  /** The final report that a terminal node ends with, when the turn gave none itself. */
  final?: string
}

export interface JournalRecord {
  ord: number
  generation: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  entry: JournalEntry
}

export interface Kind {
  kind: string
  source: 'built_in' | 'persona'
  description: string
  /** Where the body of a create names no model; null: that of the parent, `medium` for a root. */
  strength: 'light' | 'medium' | 'strong' | 'ultra' | null
  /** Where the body of a create names none. */
  mode: 'base' | 'orchestrator' | null
  lifecycle: 'terminal' | 'resident' | null
  /** The only tools it has; null: all that its scopes give. */
  tools: string[] | null
  /** Why no node can be made with it. */
  fault: string | null
}

export interface KindsListResponse {
  data: Kind[]
}

/** The call that does it now. */
export interface LedgerAction {
  method: string
  path: string
  /** The same as a command line. */
  command: string
}

export interface LedgerEntry {
  /** Of the thing that it is about; the same while that is the same. */
  id: string
  kind: 'slot' | 'launch' | 'resume' | 'answer' | 'delivery'
  state: 'waiting' | 'late' | 'failed' | 'unknown' | 'omitted'
  /** Why, as one word: of a slot one of the causes of a firing. */
  cause: string
  /** Why, for a person. */
  message: string
  /** When it was known. */
  at: string
  /** When it should have happened. */
  planned_at: string
  happened_at: string | null
  /** Null for what never happened. */
  lateness_ms: number | null
  /** How many of them in a row this entry stands for; at least 1. */
  count: number
  cron_id: string | null
  node_id: string | null
  request_id: string | null
  /** The object whose receiver, or whose event, it is about. */
  object_id: string | null
  /** Name of the schedule, the node or the object. */
  name: string | null
  app_id: string | null
  /** Null where nothing is left to do, or no call would help. */
  action: LedgerAction | null
}

export interface LedgerListResponse {
  data: LedgerEntry[]
  next_cursor: string | null
  has_more: boolean
  /** Services that did not answer, whose entries are missing here. */
  absent: string[]
}

export interface LlmAnswer {
  content: ContentPart[]
  /** The value, when `schema` was given. */
  output?: unknown
  finish_reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error' | 'other'
  /** `provider/model` that really answered. */
  model: string
  usage: CallUsage
  /** Tokens that this model takes, as far as is known; absent in answers of older versions. */
  context_window?: number
  /** Rungs of the ladder that failed before this one. */
  attempts: {
    model: string
    code: string
    message: string
  }[]
}

export type LlmItem = {
  type: 'text'
  text: string
} | {
  type: 'reasoning'
  text: string
} | {
  type: 'tool_input'
  call_id: string
  name: string
  text: string
} | {
  type: 'answer'
  answer: LlmAnswer
  /** Whether the answer was bought before and is only read back. */
  replayed: boolean
  /** Earlier attempts of the same step whose end is unknown: they may have been paid for; at least 1. */
  unknown_attempts?: number
}

export interface LlmRequest {
  /** 1 to 10000 entries. */
  messages: ConversationMessage[]
  /** At most 128 entries; default []. */
  tools?: ToolDefinition[]
  /** Default "auto". */
  tool_choice?: 'auto' | 'none' | 'required'
  /** 1 to 1000000. */
  max_output_tokens?: number
  /** At most 2. */
  temperature?: number
  strength?: 'light' | 'medium' | 'strong' | 'ultra'
  /** `provider/model`, instead of a strength; at most 200 characters. */
  model?: string
  /** The answer is one JSON value that satisfies this schema. */
  schema?: Record<string, unknown>
}

export interface MailEntry {
  id: string
  seq: number
  tier: 'critical' | 'urgent' | 'normal' | 'deferred'
  kind: 'prompt' | 'kickoff' | 'message' | 'report' | 'notice' | 'answer' | 'event'
  body: string
  source: {
    kind: 'owner' | 'app' | 'run' | 'node' | 'system' | 'object'
    id: string | null
    name?: string
    /** The event that it is about, of what the node watches. */
    event?: {
      id: string
      name: string
      trace_id: string | null
    }
  }
  /** Read each at `GET /v1/nodes/{id}/attachments/{attachment_id}`. */
  attachments?: Attachment[]
  /** W3C trace context of the request that it comes of: whoever works at it goes on with that trace. */
  traceparent?: string
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
}

export interface MessageBody {
  /** At least 1 characters. */
  body: string
  /** Default "normal". */
  tier?: 'critical' | 'urgent' | 'normal' | 'deferred'
  /** At most 8, together at most 4 MiB; `text` or `base64` each; at most 8 entries. */
  attachments?: AttachmentInput[]
}

export interface MessageReceipt {
  message_id: string
  delivered: 'live' | 'queued' | 'revived'
}

export interface MintedToken {
  id: string
  kind: 'own' | 'app' | 'run' | 'pub' | 'rt'
  label: string | null
  app_id: string | null
  /** The app's profile that it is confined to. */
  profile: string | null
  /** The object whose events it publishes. */
  object_id: string | null
  /** Its own list; null: whatever the grant of its app holds at the time. */
  scopes: string[] | null
  status: 'active' | 'expired' | 'revoked'
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  expires_at: string | null
  /** To the minute. */
  last_used_at: string | null
  revoked_at: string | null
  rotated_from: string | null
  /** The token itself, in the first answer alone: a repetition of the request gets null, and a new one by `tokens.rotate`. */
  token: string | null
}

export interface ModelChoice {
  /** Default "medium". */
  strength: 'light' | 'medium' | 'strong' | 'ultra'
  /** `provider/model`, instead of the ladder; at most 200 characters. */
  override?: string
}

export interface ModelChoiceInput {
  /** Default "medium". */
  strength?: 'light' | 'medium' | 'strong' | 'ultra'
  /** `provider/model`, instead of the ladder; at most 200 characters. */
  override?: string
}

export interface ModelConfig {
  /** Default {}. */
  providers: Record<string, ProviderConfig>
  /** For each strength the models to try, in order; a missing strength falls back to the nearest one; default {}. */
  ladders: { [K in 'light' | 'medium' | 'strong' | 'ultra']?: string[] }
  /** US dollars a million tokens, by provider/model; default {}. */
  prices: Record<string, Price>
  /** Tokens that a model takes, question and answer together, by provider/model; default {}. */
  context_windows: Record<string, number>
  /** Default {}. */
  limits: {
    /** At least 0. */
    cost_usd_per_day?: number
    /** 1 to 1000. */
    concurrent_calls?: number
  }
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface ModelConfigUpdate {
  providers?: Record<string, ProviderConfigInput>
  /** For each strength the models to try, in order; a missing strength falls back to the nearest one. */
  ladders?: { [K in 'light' | 'medium' | 'strong' | 'ultra']?: string[] }
  /** US dollars a million tokens, by provider/model. */
  prices?: Record<string, PriceInput>
  /** Tokens that a model takes, question and answer together, by provider/model. */
  context_windows?: Record<string, number>
  limits?: {
    /** At least 0. */
    cost_usd_per_day?: number
    /** 1 to 1000. */
    concurrent_calls?: number
  }
  /** Refused with precondition_failed unless the config is at this version. */
  if_version?: number
}

export interface ModelCredential {
  provider: string
  kind: 'api_key' | 'oauth'
  label: string | null
  last_four: string | null
  health: {
    state: 'unknown' | 'usable' | 'failing'
    reason: string | null
    checked_at: string | null
  }
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface ModelReadiness {
  /** Whether at least one strength can be served. */
  ready: boolean
  providers: {
    provider: string
    type: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
    configured: boolean
    usable: boolean
    reason: string | null
    checked_at: string | null
  }[]
  strengths: {
    strength: 'light' | 'medium' | 'strong' | 'ultra'
    model: string | null
    reason: string | null
  }[]
  remedy: string | null
}

export interface ModelsCredentialsListResponse {
  data: ModelCredential[]
  next_cursor: string | null
  has_more: boolean
}

export interface Node {
  id: string
  name: string
  description: string | null
  kind: string
  mode: 'base' | 'orchestrator'
  lifecycle: 'terminal' | 'resident'
  status: 'active' | 'idle' | 'done' | 'dead' | 'canceled'
  intent: 'done' | 'refresh' | 'idle_release' | null
  parent_id: string | null
  root_id: string
  spawned_by: string | null
  forked_from: {
    node_id: string
    turn: number
  } | null
  /** The root whose place it takes. */
  succeeds: string | null
  succession: 'booting' | 'taken_over' | 'failed' | null
  /** `loop`: the built-in agent. `exec`: a program of the caller, given as `exec.argv`; needs no model. */
  engine: string
  exec: ExecSpec | null
  cwd: string
  worktree: Worktree | null
  model: {
    strength: 'light' | 'medium' | 'strong' | 'ultra'
    override?: string
  }
  scopes: string[]
  scopes_explicit: boolean
  app_id: string | null
  profile: string | null
  /** The profile that it was made with. */
  env_profile: string | null
  run_id: string | null
  cycles: number
  generation: number
  engagement: number
  /** How many conversations it has begun: 1, and one more with each refresh. */
  context: number
  /** Set while it waits by its own word. */
  waiting: NodeWait | null
  broker: {
    host_id: string
    pid: number
    /** RFC 3339 time in UTC with milliseconds. */
    started_at: string
    /** RFC 3339 time in UTC with milliseconds. */
    heartbeat_at: string
  } | null
  result_schema: Record<string, unknown> | null
  usage: Usage
  /** `provider/model` that really answered it last. */
  answered_by: string | null
  fault: Fault | null
  streaming: boolean
  attention_count: number
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface NodeCreate {
  /** What the node is to do; at most 256 KiB; at least 1 characters. */
  prompt: string
  /** Role of the node, one of `GET /v1/kinds`; `general` unless given. */
  kind?: string
  mode?: 'base' | 'orchestrator'
  /** `terminal` owes a final report; `resident` stays between messages. A root is resident, a child terminal, unless given. */
  lifecycle?: 'terminal' | 'resident'
  /** 1 to 128 characters. */
  name?: string
  /** Spine parent; a node's own token makes children of itself unless it says `root`. */
  parent_id?: string
  root?: boolean
  /** Working directory; the parent's unless given. A root must name one; 1 to 4096 characters. */
  cwd?: string
  worktree?: WorktreeCreateInput
  model?: ModelChoiceInput
  /** At most 200 entries. */
  scopes?: string[]
  /** A JSON Schema (draft 2020-12). */
  result_schema?: Record<string, unknown>
  /** `loop`: the built-in agent. `exec`: a program of the caller, given as `exec.argv`; needs no model. */
  engine?: string
  exec?: ExecSpecInput
  /** A profile, whose defaults stand where this body says nothing. */
  env_profile?: string
  /** At most 8, together at most 4 MiB; `text` or `base64` each; at most 8 entries. */
  attachments?: AttachmentInput[]
}

export interface NodeEvent {
  id: string
  /** Position in the node's own sequence: 1, 2, 3 … without a gap. */
  seq: number
  type: string
  /** RFC 3339 time in UTC with milliseconds. */
  time: string
  subject: string
  actor: ActorRef
  correlation_id: string | null
  causation_id: string | null
  data: Record<string, unknown>
}

export interface NodeUpdate {
  /** 1 to 128 characters. */
  name?: string
  description?: string | null
  model?: ModelChoiceInput
  lifecycle?: 'terminal' | 'resident'
  /** The version that this was decided on; another one is refused. */
  if_match?: number
}

export interface NodeWait {
  /** RFC 3339 time in UTC with milliseconds. */
  since: string
  /** When it is woken at the latest; null: not by the clock. */
  until: string | null
  reason: string | null
}

export interface NodesAttachResponse {
  path: string
  host_id: string
  generation: number
  protocol: string
  version: string
  ticket: string
  /** Until when the ticket is good. */
  expires_at: string
}

export interface NodesBrokerBindBody {
  /** At most 128 characters. */
  host_id: string
  /** 1 to 2147483647. */
  pid: number
  /** RFC 3339 time in UTC with milliseconds. */
  started_at: string
  /** At most 64 characters. */
  version: string
}

export interface NodesBrokerDeltasResponse {
  /** Send the text of the message in progress from offset 0. */
  resync: boolean
}

export interface NodesBrokerJournalBody {
  /** At least 1. */
  from: number
  /** 1 to 200 entries. */
  entries: JournalEntryInput[]
}

export interface NodesBrokerJournalResponse {
  next_ord: number
  /** After a turn_ended: go on with more mail, or stop, since the node went idle or ended. */
  next: 'continue' | 'stop'
}

export interface NodesBrokerModelCallCancelBody {
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
}

export interface NodesBrokerModelCallCancelResponse {
  /** Whether the call was running; false when it had ended or never begun. */
  canceled: boolean
}

export interface NodesBrokerReadJournalResponse {
  journal: JournalRecord[]
  next_ord: number
}

export interface NodesBrokerSettleBody {
  /** 1 to 1000000000. */
  turn: number
}

export interface NodesBrokerViewerBody {
  /** At most 256 characters. */
  ticket: string
  act: {
    type: 'control'
  } | {
    type: 'interrupt'
  } | {
    type: 'message'
    /** At least 1 characters. */
    body: string
    /** Default "normal". */
    tier?: 'critical' | 'urgent' | 'normal' | 'deferred'
  }
}

export interface NodesBrokerViewerResponse {
  message_id?: string
  delivered?: 'live' | 'queued' | 'revived'
  interrupted?: boolean
}

export interface NodesEventsResponse {
  data: NodeEvent[]
  next_cursor: string | null
  has_more: boolean
}

export interface NodesFaultsListResponse {
  data: {
  kind: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other'
  /** Of the last failure. */
  message: string
  engagement: number
  turn: number
  /** How often it failed. */
  tries: number
  /** RFC 3339 time in UTC with milliseconds. */
  since: string
  /** RFC 3339 time in UTC with milliseconds. */
  last_at: string
  /** When it was answered, brought back, or failed otherwise; null: not yet. */
  ended_at: string | null
}[]
  next_cursor: string | null
  has_more: boolean
}

export interface NodesFaultsRecordBody {
  /** 1 to 1000000000. */
  turn: number
  kind: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other'
  /** 1 to 4000 characters. */
  message: string
  /** At most 86400000. */
  retry_after_ms?: number
}

export interface NodesFaultsRecordResponse {
  noted: boolean
}

export interface NodesForkBody {
  /** The last turn of the copy, one of the present context that has ended; the newest such turn unless given; 1 to 1000000000. */
  turn?: number
  /** What the copy is to do; without one it rests until its first message; at least 1 characters. */
  prompt?: string
  /** 1 to 128 characters. */
  name?: string
  /** Without a prompt it is resident; with one a root is resident and a child terminal, unless given. */
  lifecycle?: 'terminal' | 'resident'
  model?: ModelChoiceInput
  /** The parent of its source unless given; for a node that does not reach that one, itself. */
  parent_id?: string
  root?: boolean
}

export interface NodesInterruptResponse {
  /** Whether a turn was running. */
  interrupted: boolean
}

export interface NodesJobsListResponse {
  data: Job[]
  next_cursor: string | null
  has_more: boolean
}

export interface NodesListResponse {
  data: Node[]
  next_cursor: string | null
  has_more: boolean
}

export interface NodesMailAcknowledgeBody {
  /** 1 to 500 entries. */
  ids: string[]
}

export interface NodesMailAcknowledgeResponse {
  acknowledged: number
}

export interface NodesMailClaimBody {
  /** 1 to 500; default 100. */
  limit?: number
  /** Only what steers a running turn: urgent and critical; default false. */
  steering?: boolean
}

export interface NodesMailClaimResponse {
  mail: MailEntry[]
  /** RFC 3339 time in UTC with milliseconds. */
  lease_expires_at: string
}

export interface NodesRecycleBody {
  /** At least 1 characters. */
  prompt?: string
}

export interface NodesRecycleResponse {
  node: Node
  recycled: string
}

export interface NodesRelaunchRootBody {
  /** At least 1 characters. */
  prompt?: string
}

export interface NodesRelaunchRootResponse {
  node: Node
  relaunches: string
}

export interface NodesReportsListResponse {
  data: Report[]
  next_cursor: string | null
  has_more: boolean
}

export interface NodesResultSubmitBody {
  value: unknown
}

export interface NodesRetryResponse {
  /** Whether it waited; false when its process is at work already. */
  retried: boolean
}

export interface NodesReviveBody {
  /** `resume`: with its conversation. `fresh`: with a new one, begun from what is durable; default "resume". */
  mode?: 'resume' | 'fresh'
  /** At least 1 characters. */
  prompt?: string
}

export interface NodesReviveResponse {
  node: Node
  /** False when a process hosts it, or is on its way. */
  revived: boolean
  /** Nodes below it that stay canceled. */
  left_canceled: string[]
}

export interface NodesWaitBody {
  /** Seconds. Own wait: woken at the latest then; from outside at most 60, which holds unless given; 1 to 2592000. */
  timeout?: number
  /** Own wait: what for, for those who look; 1 to 500 characters. */
  reason?: string
  /** From outside: any of these; anything but active unless given; 1 to 5 entries. */
  status?: ('active' | 'idle' | 'done' | 'dead' | 'canceled')[]
}

export interface NodesWaitResponse {
  node: Node
  /** Whether it has one of the statuses; false for an own wait. */
  reached: boolean
}

export interface NodesWorktreeCloseBody {
  /** Also with changes that are not committed; they are lost. */
  force?: boolean
}

export interface NodesYieldBody {
  /** What it should know when it comes back; at most 32 KiB; 1 to 32768 characters. */
  note: string
}

export interface ObjectBody {
  name: string
  /** At most 4000 characters; default "". */
  description?: string
  /** Events that it may publish; at most 100 entries; default []. */
  catalog?: DeclaredEventInput[]
  /** Default null. */
  receiver?: ReceiverInput | null
  /** The application that it belongs to, whose nodes see it. */
  app?: string
  /** What it watches from the start; at most 100 entries; default []. */
  watches?: {
    source: PartyRef
    /** Only these events; null: each; default null. */
    events?: string[] | null
  }[]
  /** When the name is taken already: bring that object to this body, and give it a new publish token in the place of its own; default false. */
  rotate?: boolean
}

export interface ObjectEvent {
  id: string
  object_ref: string
  /** At least 1. */
  seq: number
  event: string
  payload: unknown
  published_by: ActorRef
  /** RFC 3339 time in UTC with milliseconds. */
  accepted_at: string
  /** W3C trace of the request, or of the slot of a schedule, that published it. */
  trace_id: string | null
}

/** Name or id of an object. */
export type ObjectRef = string

export interface ObjectUpdate {
  /** At most 4000 characters. */
  description?: string
  /** Events that it may publish; at most 100 entries. */
  catalog?: DeclaredEventInput[]
  receiver?: ReceiverChange | null
  /** The version that this was decided on; another one is refused. */
  if_match?: number
  /** Make a change of the catalog although it is incompatible; default false. */
  force?: boolean
}

export interface Outcome {
  node_id: string
  engagement: number
  status: 'active' | 'idle' | 'done' | 'dead' | 'canceled'
  /** Whether this engagement has ended: done, dead or canceled, or a resident that went idle. */
  settled: boolean
  final_report: Report | null
  result?: unknown
  error: {
    kind: string
    message: string
  } | null
  usage: Usage
}

/** Id of a node, or name or id of an object. */
export type PartyRef = string

export interface Persona {
  /** What the agent is told of its role. */
  role: string
  /** The only tools it has, besides those by which it reports, yields and waits. */
  tools?: string[]
}

export interface Price {
  /** At least 0. */
  input_per_million: number
  /** At least 0. */
  output_per_million: number
  /** At least 0. */
  cached_input_per_million?: number
}

export type PriceInput = Price

export interface Profile {
  name: string
  display_name: string
  defaults: ProfileDefaults
  app_id: string | null
  /** At least 1. */
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
}

export interface ProfileBody {
  /** The name unless given; 1 to 128 characters. */
  display_name?: string
  /** Fields that a node made with this profile has unless its body says otherwise; default {}. */
  defaults?: ProfileDefaultsInput
  /** The application whose nodes may use it; null: any; default null. */
  app_id?: string | null
  /** Only when the profile is at this version; 0: only when there is none; at least 0. */
  if_match?: number
}

export interface ProfileDefaults {
  /** Role of the node, one of `GET /v1/kinds`; `general` unless given. */
  kind?: string
  mode?: 'base' | 'orchestrator'
  /** `terminal` owes a final report; `resident` stays between messages. A root is resident, a child terminal, unless given. */
  lifecycle?: 'terminal' | 'resident'
  /** Working directory; the parent's unless given. A root must name one; 1 to 4096 characters. */
  cwd?: string
  model?: ModelChoice
  /** At most 200 entries. */
  scopes?: string[]
  /** `loop`: the built-in agent. `exec`: a program of the caller, given as `exec.argv`; needs no model. */
  engine?: string
  exec?: ExecSpec
}

export interface ProfileDefaultsInput {
  /** Role of the node, one of `GET /v1/kinds`; `general` unless given. */
  kind?: string
  mode?: 'base' | 'orchestrator'
  /** `terminal` owes a final report; `resident` stays between messages. A root is resident, a child terminal, unless given. */
  lifecycle?: 'terminal' | 'resident'
  /** Working directory; the parent's unless given. A root must name one; 1 to 4096 characters. */
  cwd?: string
  model?: ModelChoiceInput
  /** At most 200 entries. */
  scopes?: string[]
  /** `loop`: the built-in agent. `exec`: a program of the caller, given as `exec.argv`; needs no model. */
  engine?: string
  exec?: ExecSpecInput
}

export interface Promotion {
  /** Its role from now on; the present one unless given. */
  kind?: string
  /** Takes the place of the model that it had. */
  strength?: 'light' | 'medium' | 'strong' | 'ultra'
  /** Whether it stays between messages; as it is unless given. */
  resident?: boolean
  /** Its roadmap; one with its goal is written unless given; at least 1 characters. */
  roadmap?: string
}

export interface ProviderConfig {
  type: 'openai' | 'anthropic' | 'google' | 'openai-compatible'
  /** Required for openai-compatible: Ollama, llama.cpp, vLLM …. */
  base_url?: string
  /** Whether calls need a credential; false unless given for openai-compatible, true for the others. */
  requires_key?: boolean
}

export type ProviderConfigInput = ProviderConfig

export interface PruneAnswer {
  dry_run: boolean
  /** RFC 3339 time in UTC with milliseconds. */
  ended_before: string
  /** Nodes that were deleted, or would be. */
  nodes: number
  by_status: Record<string, number>
  events: number
  turns: number
  /** About what they take on the disk. */
  bytes: number
  /** The first hundred of them. */
  sample: {
    id: string
    name: string
    status: 'active' | 'idle' | 'done' | 'dead' | 'canceled'
    /** RFC 3339 time in UTC with milliseconds. */
    ended_at: string
  }[]
  /** False when the time was up before all were gone: ask again. */
  complete: boolean
}

export interface PruneBody {
  /** How long ago it must have ended: seconds, or an ISO 8601 duration of weeks, days, hours …; default "P14D". */
  older_than?: number | string
  /** Only say what would go; default true. */
  dry_run?: boolean
  /** At least 1 entries; default ["done","dead","canceled"]. */
  statuses?: ('done' | 'dead' | 'canceled')[]
}

export interface Published {
  event: string
  payload: unknown
  /** Names what happened outside: of the same key only the first is accepted, for 24 hours; 1 to 255 characters. */
  dedupe_key?: string
}

/** How what it watches reaches it: pulled by a consumer, or sent by the daemon. */
export type Receiver = {
  type: 'queue'
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more; 1 to 1000000; default 100000. */
  max_pending: number
} | {
  type: 'url'
  /** At most 2048 characters. */
  url: string
  /** Whether it may be at an address of this machine or of a private network; default false. */
  allow_private: boolean
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more; 1 to 1000000; default 100000. */
  max_pending: number
} | {
  type: 'argv'
  /** Program and arguments; it is given the event as JSON on its standard input; 1 to 64 entries. */
  argv: string[]
  /** 1 to 4096 characters. */
  cwd?: string
  env?: Record<string, string>
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more; 1 to 1000000; default 100000. */
  max_pending: number
}

/** How what it watches reaches it: pulled by a consumer, or sent by the daemon. */
export type ReceiverChange = {
  type: 'queue'
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more. Left out: as many as before, 100000 where there was no receiver; 1 to 1000000. */
  max_pending?: number
} | {
  type: 'url'
  /** At most 2048 characters. */
  url: string
  /** Whether it may be at an address of this machine or of a private network; default false. */
  allow_private?: boolean
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more. Left out: as many as before, 100000 where there was no receiver; 1 to 1000000. */
  max_pending?: number
} | {
  type: 'argv'
  /** Program and arguments; it is given the event as JSON on its standard input; 1 to 64 entries. */
  argv: string[]
  /** 1 to 4096 characters. */
  cwd?: string
  env?: Record<string, string>
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more. Left out: as many as before, 100000 where there was no receiver; 1 to 1000000. */
  max_pending?: number
}

/** How what it watches reaches it: pulled by a consumer, or sent by the daemon. */
export type ReceiverInput = {
  type: 'queue'
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more; 1 to 1000000; default 100000. */
  max_pending?: number
} | {
  type: 'url'
  /** At most 2048 characters. */
  url: string
  /** Whether it may be at an address of this machine or of a private network; default false. */
  allow_private?: boolean
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more; 1 to 1000000; default 100000. */
  max_pending?: number
} | {
  type: 'argv'
  /** Program and arguments; it is given the event as JSON on its standard input; 1 to 64 entries. */
  argv: string[]
  /** 1 to 4096 characters. */
  cwd?: string
  env?: Record<string, string>
  /** Unacknowledged deliveries that may wait for it; then what it watches can publish no more; 1 to 1000000; default 100000. */
  max_pending?: number
}

export interface ReceiverState {
  status: 'active' | 'paused'
  /** Why it is paused. */
  reason: 'asked' | 'gone' | 'dead' | null
  paused_at: string | null
  /** Deliveries that are not acknowledged, dead ones included; at least 0. */
  pending: number
  /** Of these: tried, and to be tried again; at least 0. */
  failed: number
  /** Of these: given up, until somebody replays or acknowledges them; at least 0. */
  dead: number
}

export interface RegisteredObject {
  id: string
  name: string
  description: string
  catalog: DeclaredEvent[]
  /** Raised by each change of the catalog; at least 1. */
  catalog_version: number
  /** To others than the owner: of a `url` its origin, of `argv` its program. */
  receiver: Receiver | null
  receiver_state: ReceiverState | null
  /** How many nodes and objects watch it; at least 0. */
  watchers: number
  /** Events that it has published; at least 0. */
  published: number
  app_id: string | null
  created_by: ActorRef
  /** At least 1. */
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
  /** Publishes events of this object and nothing else. In the first answer alone: a repetition of the request gets null, and a new one by `customObjects.rotate`. */
  publish_token: string | null
  /** Of a `url` receiver: what its deliveries are signed with (Standard Webhooks), in the first answer alone; a new one by `customObjects.rotate`. */
  signing_secret: string | null
}

export interface Report {
  id: string
  node_id: string
  engagement: number
  kind: 'update' | 'urgent' | 'final'
  body: string
  /** Read each at `GET /v1/nodes/{id}/attachments/{attachment_id}`. */
  attachments: Attachment[]
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
}

export interface ReportBody {
  /** Default "update". */
  kind?: 'update' | 'urgent' | 'final'
  /** At least 1 characters. */
  body: string
  /** At most 8, together at most 4 MiB; `text` or `base64` each; at most 8 entries. */
  attachments?: AttachmentInput[]
}

export interface Retention {
  classes: {
    class: string
    what: string
    /** How long, in words. */
    kept: string
    /** How long, where time decides; null: for ever, or as long as something else. */
    days: number | null
    /** The setting that changes it. */
    setting: string | null
    /** About how many rows it has. */
    rows: number
    /** What its tables take on the disk, with their indexes. */
    bytes: number
    last_run_at: string | null
    /** What the last run removed. */
    removed: number
    removed_total: number
  }[]
  database_bytes: number
}

export interface ReviveAllAnswer {
  nodes: {
    id: string
    name: string
    status: 'active' | 'idle' | 'done' | 'dead' | 'canceled'
    /** What it owes, and why nobody works on it. */
    reason: string
    fault: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other' | null
    /** False when its worktree is gone: it can not be revived. */
    usable: boolean
  }[]
  /** They start one after another, some a second. */
  revived: string[]
  has_more: boolean
}

export interface ReviveAllBody {
  /** Revive them; without it they are only listed; default false. */
  confirm?: boolean
  /** Only nodes at or below this one. */
  under?: string
  /** 1 to 200; default 50. */
  limit?: number
}

export interface Roadmap {
  node_id: string
  text: string
  version: number
  /** RFC 3339 time in UTC with milliseconds. */
  updated_at: string
  /** Principal of who wrote it. */
  updated_by: string
}

export interface RoadmapBody {
  /** At least 1 characters. */
  text: string
  /** The version that this was decided on; another one is refused. */
  if_match?: number
}

export interface RosterEntry {
  id: string
  name: string
  kind: string
  mode: 'base' | 'orchestrator'
  lifecycle: 'terminal' | 'resident'
  status: 'active' | 'idle' | 'done' | 'dead' | 'canceled'
  intent: 'done' | 'refresh' | 'idle_release' | null
  parent_id: string | null
  root_id: string
  /** How many nodes stand behind its making. */
  depth: number
  /** Nodes whose parent it is. */
  children: number
  engine: string
  /** The model that was named, else the strength; null without one. */
  model: string | null
  streaming: boolean
  fault: 'rate_limit' | 'overloaded' | 'connection' | 'auth' | 'model_not_found' | 'grant' | 'crash_loop' | 'other' | null
  /** Entries of `canvas.attention` that it has. */
  attention: number
  context_tokens: number
  cost_usd: number
  age_ms: number
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  /** When it last changed or its engine last recorded anything. */
  last_activity_at: string
}

export interface SandboxConsentBody {
  /** `sentence` of GET /v1/sandbox, word for word; 1 to 500 characters. */
  words: string
}

export interface SandboxStatus {
  hosts: {
    level: 'bubblewrap' | 'account' | 'none'
    /** At most 1000 characters. */
    detail: string
    host_id: string
  }[]
  /** What the owner says to consent. */
  sentence: string
  /** The consent that stands; needed on hosts of level `none` only. */
  consent: {
    words: string
    by: string
    /** RFC 3339 time in UTC with milliseconds. */
    at: string
  } | null
}

export interface SearchAnswer {
  hits: SearchHit[]
  next_cursor: string | null
  /** False when more passages fit than are ranked: the newest five hundred were. */
  complete: boolean
  /** Text that was written a moment ago may not be found yet. */
  indexing: boolean
}

export interface SearchBody {
  /** Words that must occur; `"a phrase"`, `or`, `-without`; 1 to 1000 characters. */
  query: string
  /** Only nodes at or below this one. */
  under?: string
  /** 1 to 6 entries. */
  kinds?: ('user' | 'assistant' | 'reasoning' | 'tool' | 'report' | 'mail')[]
  /** 1 to 100; default 20. */
  limit?: number
  /** At most 512 characters. */
  after?: string
}

export interface SearchHit {
  node_id: string
  node_name: string
  kind: 'user' | 'assistant' | 'reasoning' | 'tool' | 'report' | 'mail'
  turn: number | null
  step: number | null
  /** Name of the tool, kind of the report, sender of the mail. */
  label: string | null
  ref: number
  /** RFC 3339 time in UTC with milliseconds. */
  at: string
  /** Line of its text at which the passage begins. */
  line: number
  score: number
  snippet: string
  /** Where the words stand in the snippet: from and to, in UTF-16 units. */
  highlights: unknown[][]
}

export interface Settlement {
  /** `continue`: end the turn, mail waits for the next one. `finish`: nothing is waited for: a terminal node ends with its report. `wait`: end the turn without a final report. `yield`: end it, a fresh context begins. `stop`: the node has ended. */
  directive: 'continue' | 'finish' | 'wait' | 'yield' | 'stop'
  waits_for: WaitedFor[]
}

export interface StatsBody {
  under?: string
  /** RFC 3339 time in UTC with milliseconds. */
  since?: string
  /** RFC 3339 time in UTC with milliseconds. */
  until?: string
  by?: 'day' | 'model' | 'app' | 'kind'
}

export interface StreamItem {
  type: string
  data: Record<string, unknown>
}

export interface Subscription {
  subscriber: string
  publisher: string
  /** `active` ones are woken; `passive` ones find it ahead of their next message. */
  mode: 'active' | 'passive'
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
}

export interface SubscriptionBody {
  subscriber: string
  publisher: string
  /** Default "active". */
  mode?: 'active' | 'passive'
}

export interface SystemHealthResponse {
  status: 'ok'
  version: string
}

export type SystemOpenapiResponse = Record<string, unknown>

export interface SystemStatus {
  version: string
  /** Whether every part that nodes need is there. */
  ready: boolean
  /** RFC 3339 time in UTC with milliseconds. */
  started_at: string
  base_url: string
  parts: {
    name: string
    state: 'ready' | 'degraded' | 'absent'
    detail: string | null
    version: string | null
  }[]
  /** Number of nodes by status, of those that the caller may see. */
  nodes: Record<string, number>
  /** How each host holds the programs of nodes. */
  sandbox: {
    level: 'bubblewrap' | 'account' | 'none'
    /** At most 1000 characters. */
    detail: string
    host_id: string
  }[]
  brokers: {
    live: number
    warm: number
    cap: number
  } | null
  limits: Record<string, number>
}

export interface Token {
  id: string
  kind: 'own' | 'app' | 'run' | 'pub' | 'rt'
  label: string | null
  app_id: string | null
  /** The app's profile that it is confined to. */
  profile: string | null
  /** The object whose events it publishes. */
  object_id: string | null
  /** Its own list; null: whatever the grant of its app holds at the time. */
  scopes: string[] | null
  status: 'active' | 'expired' | 'revoked'
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
  expires_at: string | null
  /** To the minute. */
  last_used_at: string | null
  revoked_at: string | null
  rotated_from: string | null
}

export interface TokenBody {
  /** The app that it is for, by id or name. */
  app: string
  /** Its list, within the grant of the app; left out, it follows the grant; an empty list permits nothing. `svc:memory:read:app` and `svc:memory:rw:app` stand for that app's own documents; at most 200 entries. */
  scopes?: string[]
  /** 1 to 128 characters. */
  profile?: string
  /** 1 to 128 characters. */
  label?: string
  /** Seconds; 90 days unless given; default 7776000. */
  expires_in?: number | null
}

export interface TokenSelf {
  kind: 'owner' | 'app' | 'run' | 'node' | 'pub'
  principal: string
  token_id: string | null
  /** What it permits now: its own list, within the grant of its app; `*` is the owner’s. */
  scopes: string[]
  app_id: string | null
  profile: string | null
  node_id: string | null
  expires_at: string | null
}

export interface TokensListResponse {
  data: Token[]
  next_cursor: string | null
  has_more: boolean
}

export interface TokensRotateBody {
  /** Seconds, a week at most; at most 604800; default 0. */
  overlap?: number
}

export interface ToolDefinition {
  /** 1 to 64 characters. */
  name: string
  description: string
  /** A JSON Schema (draft 2020-12). */
  input_schema: Record<string, unknown>
}

export interface TurnCall {
  /** 1 to 10000 entries. */
  messages: ConversationMessage[]
  /** At most 128 entries; default []. */
  tools?: ToolDefinition[]
  /** Default "auto". */
  tool_choice?: 'auto' | 'none' | 'required'
  /** 1 to 1000000. */
  max_output_tokens?: number
  /** At most 2. */
  temperature?: number
  /** 1 to 1000000000. */
  turn: number
  /** 1 to 1000000000. */
  step: number
  strength: 'light' | 'medium' | 'strong' | 'ultra'
  /** At most 200 characters. */
  model?: string
}

export interface Usage {
  /** At least 0. */
  input_tokens: number
  /** At least 0. */
  output_tokens: number
  /** At least 0. */
  cached_tokens: number
  /** At least 0. */
  cost_usd: number
  /** At least 0. */
  context_tokens: number
}

export interface WaitedFor {
  /** `child`: a node below, or one that it watches actively. `timer`: its own wait. */
  kind: 'child' | 'job' | 'timer' | 'answer'
  id: string
  name?: string
}

export interface Watch {
  watcher: string
  watcher_name: string | null
  source: string
  source_name: string | null
  events: string[] | null
  tier: 'critical' | 'urgent' | 'normal' | 'deferred'
  created_by: ActorRef
  /** RFC 3339 time in UTC with milliseconds. */
  created_at: string
}

export interface WatchBody {
  watcher: PartyRef
  source: PartyRef
  /** Only these events; null: each; default null. */
  events?: string[] | null
  /** Of a node that watches: the tier of its mail. `deferred` never wakes it. It says nothing of an object; default "normal". */
  tier?: 'critical' | 'urgent' | 'normal' | 'deferred'
}

export interface Worktree {
  /** Where the tree lies; the node works there, or in a directory of it. */
  path: string
  branch: string
  /** Id of the commit that the branch began at. */
  base: string
  /** The tree that it was made from. */
  repository: string
  state: 'creating' | 'open' | 'closing' | 'closed' | 'abandoning' | 'abandoned'
  /** Where the branch pointed when the worktree was closed or abandoned; `git branch <name> <commit>` brings back what an abandoned one held. */
  commit: string | null
}

/** Work in a git worktree of its own, on a new branch of the repository that `cwd` lies in. */
export interface WorktreeCreate {
  /** Name of the new branch; `svc/<name of the node>-<part of its id>` unless given; 1 to 200 characters. */
  branch?: string
  /** Commit, branch or tag to begin at; `HEAD` of `cwd` unless given; 1 to 512 characters. */
  base?: string
}

export type WorktreeCreateInput = WorktreeCreate
