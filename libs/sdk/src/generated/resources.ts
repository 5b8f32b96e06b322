// Made from the contract by `npm run gen`. Do not edit.

import type { PageList } from '../page.js'
import type { ReceiveOptions, RequestOptions, StreamOptions } from '../options.js'
import { Resource } from '../resource.js'
import type { EventStream } from '../event-stream.js'
import type { Feed } from '../feed.js'
import type {
  Acceptance,
  App,
  AppsCreateBody,
  AppsGrantSetBody,
  AppsUpdateBody,
  Attention,
  AttentionCounts,
  AttentionCountsBody,
  AuditEntry,
  BashCommand,
  BashResult,
  CancelResult,
  CanvasSnapshot,
  CanvasWatchesDeleteResponse,
  CredentialInstall,
  Cron,
  CronCreate,
  CronFire,
  CronsDeleteResponse,
  CronsPokeResponse,
  CustomObject,
  CustomObjectsAckBody,
  CustomObjectsAckResponse,
  CustomObjectsAsyncapiResponse,
  CustomObjectsDeliveriesReplayBody,
  CustomObjectsDeliveriesReplayResponse,
  CustomObjectsPublishBatchBody,
  CustomObjectsPublishBatchResponse,
  CustomObjectsRotateBody,
  CustomObjectsRotateResponse,
  CustomObjectsTypesResponse,
  CustomObjectsUnregisterResponse,
  CustomObjectsUpdateResponse,
  Delivery,
  FileContent,
  FileEntry,
  FileWrite,
  FileWritten,
  Grant,
  GrepAnswer,
  GrepBody,
  HealthGetResponse,
  HistoryEntry,
  HistoryStats,
  HumanReasonBody,
  HumanRequest,
  HumanRequestCreate,
  HumanRequestReplace,
  HumanRespondBody,
  Job,
  MessageBody,
  MessageReceipt,
  MintedToken,
  ModelConfig,
  ModelConfigUpdate,
  ModelCredential,
  Node,
  NodeCreate,
  NodeEvent,
  NodeUpdate,
  NodesForkBody,
  NodesInterruptResponse,
  NodesRecycleBody,
  NodesRecycleResponse,
  NodesRelaunchRootBody,
  NodesRelaunchRootResponse,
  NodesResultSubmitBody,
  NodesReviveBody,
  NodesReviveResponse,
  NodesWaitBody,
  NodesWaitResponse,
  NodesWorktreeCloseBody,
  NodesYieldBody,
  ObjectBody,
  ObjectEvent,
  ObjectUpdate,
  Outcome,
  Profile,
  ProfileBody,
  Promotion,
  PruneAnswer,
  PruneBody,
  Published,
  RegisteredObject,
  Report,
  ReviveAllAnswer,
  ReviveAllBody,
  RosterEntry,
  SearchAnswer,
  SearchBody,
  StatsBody,
  StreamItem,
  SystemHealthResponse,
  SystemStatus,
  Token,
  TokenBody,
  TokenSelf,
  TokensRotateBody,
  Watch,
  WatchBody,
} from './types.js'

export interface AppsListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
}

export interface AuditListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  /** Default "newest". */
  order?: 'newest' | 'oldest'
  decision?: 'allowed' | 'denied'
  /** At most 200 characters. */
  principal?: string
  /** At most 100 characters. */
  operation?: string
  /** Lines after this one; at least 0. */
  since_seq?: number
}

export interface CanvasRosterQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  /** Only nodes at or below this one. */
  under?: string
}

export interface CanvasSnapshotQuery {
  /** 1 to 1000; default 500. */
  limit?: number
  /** At most 512 characters. */
  after?: string
  /** Only nodes at or below this one. */
  under?: string
  /** Only nodes that are active or idle. */
  live?: boolean
}

export interface CanvasAttentionQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  /** Only nodes at or below this one. */
  under?: string
}

export interface CanvasEventsQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Go on after this position; `Last-Event-ID` says the same; at most 512 characters. */
  after?: string
  /** Begin with the events of this time; `after` overrules it. */
  since?: string
  /** Only these kinds, between commas; `node.*` names all that begin so; at most 2000 characters. */
  types?: string
  /** Only nodes at or below this one, those made later included. */
  under?: string
}

export interface CanvasHistoryReadQuery {
  node: string
  /** First turn; 1 to 2000000000. */
  from?: number
  /** Last turn; 1 to 2000000000. */
  to?: number
  /** 1 to 500; default 200. */
  limit?: number
  /** At most 512 characters. */
  after?: string
}

export interface CanvasWatchesListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  /** Id of a node, or name or id of an object. */
  watcher?: string
  /** Id of a node, or name or id of an object. */
  source?: string
}

export interface CanvasWatchesDeleteQuery {
  /** Id of a node, or name or id of an object. */
  watcher: string
  /** Id of a node, or name or id of an object. */
  source: string
}

export interface CronsRetrieveQuery {
  /** Only if it belongs to this node. */
  node_id?: string
  /** Only if it belongs to this application. */
  app_id?: string
}

export interface CronsListQuery {
  /** Only if it belongs to this node. */
  node_id?: string
  /** Only if it belongs to this application. */
  app_id?: string
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  status?: 'active' | 'paused' | 'completed' | 'failed'
}

export interface CronsPauseQuery {
  /** Only if it belongs to this node. */
  node_id?: string
  /** Only if it belongs to this application. */
  app_id?: string
  /** Only when it is at this version; 1 to 2147483647. */
  if_match?: number
}

export interface CronsResumeQuery {
  /** Only if it belongs to this node. */
  node_id?: string
  /** Only if it belongs to this application. */
  app_id?: string
  /** Only when it is at this version; 1 to 2147483647. */
  if_match?: number
}

export interface CronsRunQuery {
  /** Only if it belongs to this node. */
  node_id?: string
  /** Only if it belongs to this application. */
  app_id?: string
}

export interface CronsDeleteQuery {
  /** Only if it belongs to this node. */
  node_id?: string
  /** Only if it belongs to this application. */
  app_id?: string
  /** Only when it is at this version; 1 to 2147483647. */
  if_match?: number
}

export interface CustomObjectsListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  /** Only those of this application; at most 128 characters. */
  app_id?: string
}

export interface CustomObjectsDeliveriesListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  state?: 'pending' | 'acked' | 'failed' | 'dead'
}

export interface CustomObjectsEventsListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  /** At most 128 characters. */
  event?: string
  /** Only this one, while it is kept; a node reads so what it was told of, whatever else it sees. */
  id?: string
}

export interface FilesReadQuery {
  /** 1 to 4096 characters. */
  path: string
  /** Byte to begin at; at least 0; default 0. */
  offset?: number
  /** Bytes to read at most, 4 (a character may have as many) to 262,144; 4 to 262144; default 262144. */
  limit?: number
  /** `auto`: `content` when the bytes are UTF-8, else `base64`. `utf8`: what is none shows as U+FFFD; default "auto". */
  encoding?: 'auto' | 'utf8' | 'base64'
}

export interface FilesListQuery {
  /** 1 to 4096 characters. */
  path: string
  /** Entries a page, 1 to 1,000; 1 to 1000; default 1000. */
  limit?: number
  /** Cursor of the previous page; at most 1024 characters. */
  after?: string
}

export interface GrantGetQuery {
  /** Seconds, 0 to 60; at most 60; default 0. */
  wait?: number
  /** The version that the caller knows; at least 0. */
  since?: number
}

export interface HumanRequestsRetrieveQuery {
  /** Hold the answer for up to this many seconds, until the request is resolved; `Prefer: wait=n` says the same; at most 60. */
  wait?: number
}

export interface NodesListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  status?: 'active' | 'idle' | 'done' | 'dead' | 'canceled'
  kind?: string
  mode?: 'base' | 'orchestrator'
  lifecycle?: 'terminal' | 'resident'
  cwd?: string
  /** Only nodes at or below this one. */
  under?: string
  /** Only nodes of this application; at most 128 characters. */
  app?: string
  /** Only nodes that hang: at work without a sign of it, or at rest while they owe a report and wait for nothing. */
  hanging?: boolean
  /** Part of the name or description; at most 200 characters. */
  text?: string
}

export interface NodesOutcomeQuery {
  /** Hold the answer for up to this many seconds, until the outcome is settled; `Prefer: wait=n` says the same; at most 60. */
  wait?: number
}

export interface NodesEventsQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Go on after this event id; `Last-Event-ID` says the same; at most 512 characters. */
  after?: string
}

export interface NodesStreamQuery {
  /** At most 512 characters. */
  after?: string
  /** Also those of the nodes below. */
  tree?: boolean
}

export interface NodesJobsListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  status?: 'running' | 'exited' | 'killed' | 'lost'
}

export interface NodesReportsListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
}

export interface TokensListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
  app?: string
  status?: 'active' | 'expired' | 'revoked'
}

export class AppsRoutes extends Resource {
  /**
   * Register an app, with what it may do.
   *
   * `POST /v1/apps`; may answer `already_exists`
   */
  create(body: AppsCreateBody, options?: RequestOptions): Promise<App> {
    return this.call<App>('apps.create', { body, options })
  }

  /**
   * Registered apps, the newest first.
   *
   * `GET /v1/apps`
   */
  list(query?: AppsListQuery, options?: RequestOptions): PageList<App> {
    return this.listed<App>('apps.list', { query, options })
  }

  /**
   * Read an app and its grant.
   *
   * `GET /v1/apps/{app}`; may answer `not_found`
   */
  retrieve(app: string, options?: RequestOptions): Promise<App> {
    return this.call<App>('apps.retrieve', { params: { app }, options })
  }

  /**
   * Change what is said of an app.
   *
   * `PATCH /v1/apps/{app}`; may answer `not_found`, `already_exists`
   */
  update(app: string, body: AppsUpdateBody, options?: RequestOptions): Promise<App> {
    return this.call<App>('apps.update', { params: { app }, body, options })
  }

  /**
   * Remove an app; its tokens end and what runs for it may do nothing more.
   *
   * `DELETE /v1/apps/{app}`; may answer `not_found`
   */
  delete(app: string, options?: RequestOptions): Promise<void> {
    return this.call<void>('apps.delete', { params: { app }, options })
  }
}

export class AppsGrantRoutes extends Resource {
  /**
   * Set an app's grant: widen it, narrow it, or give it back.
   *
   * Narrowing takes effect at the next call of everything that runs for the app, at once. A grant that says what it said already keeps its version.
   *
   * `PUT /v1/apps/{app}/grant`; may answer `not_found`, `precondition_failed`
   */
  set(app: string, body: AppsGrantSetBody, options?: RequestOptions): Promise<Grant> {
    return this.call<Grant>('apps.grant.set', { params: { app }, body, options })
  }

  /**
   * Take everything back from an app; a repetition changes nothing.
   *
   * `DELETE /v1/apps/{app}/grant`; may answer `not_found`
   */
  revoke(app: string, options?: RequestOptions): Promise<Grant> {
    return this.call<Grant>('apps.grant.revoke', { params: { app }, options })
  }
}

export class AuditRoutes extends Resource {
  /**
   * What was done with the owner’s rights and what was denied, the newest first.
   *
   * Each line’s `seq` is one more than that of the line before, and its `hash` covers it: `svc sys audit --verify` shows that none was changed or taken out.
   *
   * `GET /v1/audit`
   */
  list(query?: AuditListQuery, options?: RequestOptions): PageList<AuditEntry> {
    return this.listed<AuditEntry>('audit.list', { query, options })
  }
}

export class AuthRoutes extends Resource {}

export class BashRoutes extends Resource {
  /**
   * Run one shell command and answer what it did.
   *
   * A non-zero exit is a value. With a node's token it runs in that node's sandbox; with the owner's, as the daemon's own account. It gets none of the daemon's own environment and no token: pass in `env` what it needs. When it ends, at its time-out and when the client disconnects, all that it started is ended with it: what is to go on is a job. Output beyond 1 MiB keeps its beginning and its end. Repeating a request with its idempotency key never runs the command twice: one that was cut off answers `outcome_unknown`.
   *
   * `POST /v1/bash`; may answer `not_found`, `path_outside_scope`, `file_access_denied`, `outcome_unknown`, `quota_exceeded`, `sandbox_required`
   */
  run(body: BashCommand, options?: RequestOptions): Promise<BashResult> {
    return this.call<BashResult>('bash.run', { body, options })
  }
}

export class CanvasRoutes extends Resource {
  /**
   * One line a node, newest first.
   *
   * `GET /v1/canvas/roster`; may answer `not_found`
   */
  roster(query?: CanvasRosterQuery, options?: RequestOptions): PageList<RosterEntry> {
    return this.listed<RosterEntry>('canvas.roster', { query, options })
  }

  /**
   * The canvas as it stands: nodes, objects and the edges between them.
   *
   * Nodes come newest first and in pages; each edge comes once, with the node that it leads to. `live` leaves out nodes that have ended.
   *
   * `GET /v1/canvas/snapshot`; may answer `not_found`
   */
  snapshot(query?: CanvasSnapshotQuery, options?: RequestOptions): Promise<CanvasSnapshot> {
    return this.call<CanvasSnapshot>('canvas.snapshot', { query, options })
  }

  /**
   * What needs a person: open questions, faults, nodes that hang, schedules that fail.
   *
   * A node hangs when it is active and nothing has come of it for a quarter of an hour, or when it is idle, owes a report and waits for nothing.
   *
   * `GET /v1/canvas/attention`; may answer `not_found`
   */
  attention(query?: CanvasAttentionQuery, options?: RequestOptions): Promise<Attention> {
    return this.call<Attention>('canvas.attention', { query, options })
  }

  /**
   * How many entries of the attention each of these nodes has.
   *
   * `POST /v1/canvas/attention/counts`
   */
  attentionCounts(body: AttentionCountsBody, options?: RequestOptions): Promise<AttentionCounts> {
    return this.call<AttentionCounts>('canvas.attentionCounts', { body, options })
  }

  /**
   * Delete nodes that ended long ago, with all that they said and did.
   *
   * Never a node that is active or idle, one that has a node below it which stays, one that a live node subscribes to, or one with a worktree on the disk or a running job. Statistics stay. Deletes in small steps and answers after a while also when more is left (`complete`).
   *
   * `POST /v1/canvas/prune`
   */
  prune(body: PruneBody, options?: RequestOptions): Promise<PruneAnswer> {
    return this.call<PruneAnswer>('canvas.prune', { body, options })
  }

  /**
   * Read the durable events of all nodes: live as a stream, or by pages.
   *
   * Every event once, in an order that keeps that of each node and of each tree. Pages begin with the oldest event that is kept, a stream with what happens from now on, unless `after` or `since` says otherwise. Positions are opaque. A page may hold fewer events than its limit, or none, while `has_more` says that there are more. Events of a node go with it when it is pruned.
   *
   * `GET /v1/canvas/events`; may answer `not_found`, `cursor_expired`, `malformed_request`
   */
  events(query?: CanvasEventsQuery, options?: StreamOptions): Feed<NodeEvent> {
    return this.fed<NodeEvent>('canvas.events', { query, options })
  }
}

export class CanvasHistoryRoutes extends Resource {
  /**
   * Search what was said, read and reported, best first.
   *
   * Reports weigh most, then what was said, then mail, then what tools answered and thoughts. Text is found about a second after it was written.
   *
   * `POST /v1/canvas/history/search`; may answer `not_found`
   */
  search(body: SearchBody, options?: RequestOptions): Promise<SearchAnswer> {
    return this.call<SearchAnswer>('canvas.history.search', { body, options })
  }

  /**
   * Find lines by a regular expression, newest text first.
   *
   * Takes time in proportion to the text whatever the pattern. One request looks for a bounded time at a bounded amount of text; `cut` says which bound it met and `next_cursor` goes on. Lines of more than 4,000 characters are looked at in pieces.
   *
   * `POST /v1/canvas/history/grep`; may answer `not_found`
   */
  grep(body: GrepBody, options?: RequestOptions): Promise<GrepAnswer> {
    return this.call<GrepAnswer>('canvas.history.grep', { body, options })
  }

  /**
   * Read the turns of a node.
   *
   * `GET /v1/canvas/history/read`; may answer `not_found`
   */
  read(query: CanvasHistoryReadQuery, options?: RequestOptions): PageList<HistoryEntry> {
    return this.listed<HistoryEntry>('canvas.history.read', { query, options })
  }

  /**
   * Turns, tokens and cost, by day, model, application or kind.
   *
   * Whole days, in UTC. What pruned nodes did is counted, too, unless `under` is given.
   *
   * `POST /v1/canvas/history/stats`; may answer `not_found`
   */
  stats(body: StatsBody, options?: RequestOptions): Promise<HistoryStats> {
    return this.call<HistoryStats>('canvas.history.stats', { body, options })
  }
}

export class CanvasWatchesRoutes extends Resource {
  /**
   * List who watches what, newest first.
   *
   * A token that is not the owner’s names a watcher or a source that it may see.
   *
   * `GET /v1/canvas/watches`; may answer `not_found`
   */
  list(query?: CanvasWatchesListQuery, options?: RequestOptions): PageList<Watch> {
    return this.listed<Watch>('canvas.watches.list', { query, options })
  }

  /**
   * Make a node or an object watch another: from now on it is told of its events.
   *
   * A node is told by mail, at the tier that the watch names, and is woken; an object by a delivery to its receiver. A node may have itself, or a node below it, watch any node of its tree and any object that it sees; objects are made to watch by the owner. To watch again replaces filter and tier. A watch ends with either of the two; that of a node also when the node is done.
   *
   * `PUT /v1/canvas/watches`; may answer `not_found`, `illegal_transition`, `quota_exceeded`, `receiver_unfit`, `event_not_declared`, `owner_required`
   */
  put(body: WatchBody, options?: RequestOptions): Promise<Watch> {
    return this.call<Watch>('canvas.watches.put', { body, options })
  }

  /**
   * Make a node or an object watch another no more.
   *
   * `DELETE /v1/canvas/watches`; may answer `not_found`, `owner_required`
   */
  delete(query: CanvasWatchesDeleteQuery, options?: RequestOptions): Promise<CanvasWatchesDeleteResponse> {
    return this.call<CanvasWatchesDeleteResponse>('canvas.watches.delete', { query, options })
  }
}

export class CronsRoutes extends Resource {
  /**
   * Arm a schedule.
   *
   * What it does is checked now and again at each firing, which acts with the authority of who made the schedule as it stands then: its token may have expired, its grant may not have been narrowed.
   *
   * `POST /v1/crons`; may answer `schedule_impossible`, `schedule_too_frequent`, `schedule_past`, `timezone_unknown`, `action_unavailable`, `not_found`, `scope_missing`, `scope_exceeds_ceiling`, `path_outside_scope`, `quota_exceeded`, `illegal_transition`, `model_not_configured`, `sandbox_required`, `worktree_refused`, `grant_revoked`, `node_token_required`, `event_not_declared`, `payload_schema_mismatch`
   */
  create(body: CronCreate, options?: RequestOptions): Promise<Cron> {
    return this.call<Cron>('crons.create', { body, options })
  }

  /**
   * Read a schedule.
   *
   * `GET /v1/crons/{id}`; may answer `not_found`
   */
  retrieve(id: string, query?: CronsRetrieveQuery, options?: RequestOptions): Promise<Cron> {
    return this.call<Cron>('crons.retrieve', { params: { id }, query, options })
  }

  /**
   * List schedules, newest first.
   *
   * `GET /v1/crons`
   */
  list(query?: CronsListQuery, options?: RequestOptions): PageList<Cron> {
    return this.listed<Cron>('crons.list', { query, options })
  }

  /**
   * Pause a schedule; what it has begun goes on.
   *
   * `POST /v1/crons/{id}/pause`; may answer `not_found`, `illegal_transition`, `precondition_failed`
   */
  pause(id: string, query?: CronsPauseQuery, options?: RequestOptions): Promise<Cron> {
    return this.call<Cron>('crons.pause', { params: { id }, query, options })
  }

  /**
   * Resume a paused schedule from now on; slots that passed meanwhile are not made up for.
   *
   * `POST /v1/crons/{id}/resume`; may answer `not_found`, `illegal_transition`, `precondition_failed`
   */
  resume(id: string, query?: CronsResumeQuery, options?: RequestOptions): Promise<Cron> {
    return this.call<Cron>('crons.resume', { params: { id }, query, options })
  }

  /**
   * Fire it now, whatever its status; the schedule stays where it is.
   *
   * `POST /v1/crons/{id}/run`; may answer `not_found`, `already_running`, `quota_exceeded`
   */
  run(id: string, query?: CronsRunQuery, options?: RequestOptions): Promise<CronFire> {
    return this.call<CronFire>('crons.run', { params: { id }, query, options })
  }

  /**
   * Delete a schedule; what it has begun goes on, and what did not go as planned stays in the ledger.
   *
   * `DELETE /v1/crons/{id}`; may answer `not_found`, `precondition_failed`
   */
  delete(id: string, query?: CronsDeleteQuery, options?: RequestOptions): Promise<CronsDeleteResponse> {
    return this.call<CronsDeleteResponse>('crons.delete', { params: { id }, query, options })
  }

  /**
   * Set every timer anew and fire all that is due.
   *
   * `POST /v1/crons/poke`
   */
  poke(options?: RequestOptions): Promise<CronsPokeResponse> {
    return this.call<CronsPokeResponse>('crons.poke', { options })
  }
}

export class CustomObjectsRoutes extends Resource {
  /**
   * Register an object: the events that it declares, and how what it watches reaches it.
   *
   * `POST /v1/custom-objects`; may answer `already_exists`, `not_found`, `quota_exceeded`, `receiver_refused`, `receiver_unfit`, `event_not_declared`, `catalog_incompatible`
   */
  register(body: ObjectBody, options?: RequestOptions): Promise<RegisteredObject> {
    return this.call<RegisteredObject>('customObjects.register', { body, options })
  }

  /**
   * List objects, newest first.
   *
   * `GET /v1/custom-objects`
   */
  list(query?: CustomObjectsListQuery, options?: RequestOptions): PageList<CustomObject> {
    return this.listed<CustomObject>('customObjects.list', { query, options })
  }

  /**
   * Read an object.
   *
   * `GET /v1/custom-objects/{ref}`; may answer `not_found`
   */
  retrieve(ref: string, options?: RequestOptions): Promise<CustomObject> {
    return this.call<CustomObject>('customObjects.retrieve', { params: { ref }, options })
  }

  /**
   * Change the description, the catalog or the receiver of an object.
   *
   * A catalog may gain events, and payloads that are open to undeclared fields may gain optional ones. Whatever would break who publishes or who receives is refused with each difference, unless `force` is set. A receiver of another kind, address or program takes over what is not acknowledged, as if nothing of it had been tried.
   *
   * `PATCH /v1/custom-objects/{ref}`; may answer `not_found`, `precondition_failed`, `catalog_incompatible`, `receiver_refused`, `receiver_unfit`
   */
  update(ref: string, body: ObjectUpdate, options?: RequestOptions): Promise<CustomObjectsUpdateResponse> {
    return this.call<CustomObjectsUpdateResponse>('customObjects.update', { params: { ref }, body, options })
  }

  /**
   * Give an object a new publish token, or a new secret that its deliveries are signed with.
   *
   * `POST /v1/custom-objects/{ref}/rotate`; may answer `not_found`, `receiver_unfit`
   */
  rotate(ref: string, body: CustomObjectsRotateBody, options?: RequestOptions): Promise<CustomObjectsRotateResponse> {
    return this.call<CustomObjectsRotateResponse>('customObjects.rotate', { params: { ref }, body, options })
  }

  /**
   * Delete an object with its watches, its token and what was not delivered to it.
   *
   * `DELETE /v1/custom-objects/{ref}`; may answer `not_found`
   */
  unregister(ref: string, options?: RequestOptions): Promise<CustomObjectsUnregisterResponse> {
    return this.call<CustomObjectsUnregisterResponse>('customObjects.unregister', { params: { ref }, options })
  }

  /**
   * Publish one declared event of an object to whoever watches it.
   *
   * With a token that may act, or with the publish token of the object alone. What is accepted is durable, and is delivered at least once.
   *
   * `POST /v1/custom-objects/{ref}/publish`; may answer `not_found`, `event_not_declared`, `payload_schema_mismatch`, `queue_full`, `publish_token_only`
   */
  publish(ref: string, body: Published, options?: RequestOptions): Promise<Acceptance> {
    return this.call<Acceptance>('customObjects.publish', { params: { ref }, body, options })
  }

  /**
   * Publish many events of an object in one go: all or none, in their order.
   *
   * `POST /v1/custom-objects/{ref}/publish-batch`; may answer `not_found`, `event_not_declared`, `payload_schema_mismatch`, `queue_full`, `publish_token_only`
   */
  publishBatch(ref: string, body: CustomObjectsPublishBatchBody, options?: RequestOptions): Promise<CustomObjectsPublishBatchResponse> {
    return this.call<CustomObjectsPublishBatchResponse>('customObjects.publishBatch', { params: { ref }, body, options })
  }

  /**
   * Follow the deliveries of a queue: all that are not acknowledged, in order, and then live.
   *
   * Every connect begins with all unacknowledged deliveries. With `after` those behind that position come too though they are acknowledged, as far as they are kept; it hides none, and is never too old. Whoever is connected is given each. The last event is `error`, with `not_found` when the object is deleted and with `receiver_unfit` when it is a queue no more; it is `end`, with the reason `draining`, when the daemon stops.
   *
   * `GET /v1/custom-objects/{ref}/receive`; may answer `not_found`, `receiver_unfit`
   */
  receive(ref: string, options?: ReceiveOptions): EventStream<Delivery> {
    return this.received<Delivery>('customObjects.receive', { params: { ref }, options })
  }

  /**
   * Acknowledge deliveries, which are not delivered again.
   *
   * `POST /v1/custom-objects/{ref}/ack`; may answer `not_found`, `receiver_unfit`
   */
  ack(ref: string, body: CustomObjectsAckBody, options?: RequestOptions): Promise<CustomObjectsAckResponse> {
    return this.call<CustomObjectsAckResponse>('customObjects.ack', { params: { ref }, body, options })
  }

  /**
   * Send nothing to the receiver of an object; what comes meanwhile waits.
   *
   * `POST /v1/custom-objects/{ref}/pause`; may answer `not_found`, `receiver_unfit`
   */
  pause(ref: string, options?: RequestOptions): Promise<CustomObject> {
    return this.call<CustomObject>('customObjects.pause', { params: { ref }, options })
  }

  /**
   * Send to the receiver of an object again, beginning with what waits.
   *
   * `POST /v1/custom-objects/{ref}/resume`; may answer `not_found`, `receiver_unfit`
   */
  resume(ref: string, options?: RequestOptions): Promise<CustomObject> {
    return this.call<CustomObject>('customObjects.resume', { params: { ref }, options })
  }

  /**
   * TypeScript types of the events that an object declares.
   *
   * `GET /v1/custom-objects/{ref}/types`; may answer `not_found`
   */
  types(ref: string, options?: RequestOptions): Promise<CustomObjectsTypesResponse> {
    return this.call<CustomObjectsTypesResponse>('customObjects.types', { params: { ref }, options })
  }

  /**
   * The catalog of an object as an AsyncAPI 3.0 document.
   *
   * `GET /v1/custom-objects/{ref}/asyncapi`; may answer `not_found`
   */
  asyncapi(ref: string, options?: RequestOptions): Promise<CustomObjectsAsyncapiResponse> {
    return this.call<CustomObjectsAsyncapiResponse>('customObjects.asyncapi', { params: { ref }, options })
  }
}

export class CustomObjectsDeliveriesRoutes extends Resource {
  /**
   * List deliveries to the receiver of an object, newest first.
   *
   * `GET /v1/custom-objects/{ref}/deliveries`; may answer `not_found`, `receiver_unfit`
   */
  list(ref: string, query?: CustomObjectsDeliveriesListQuery, options?: RequestOptions): PageList<Delivery> {
    return this.listed<Delivery>('customObjects.deliveries.list', { params: { ref }, query, options })
  }

  /**
   * Try dead deliveries again, from the first try on.
   *
   * A receiver that is paused stays so, and is sent them once it is resumed.
   *
   * `POST /v1/custom-objects/{ref}/deliveries/replay`; may answer `not_found`, `receiver_unfit`
   */
  replay(ref: string, body: CustomObjectsDeliveriesReplayBody, options?: RequestOptions): Promise<CustomObjectsDeliveriesReplayResponse> {
    return this.call<CustomObjectsDeliveriesReplayResponse>('customObjects.deliveries.replay', { params: { ref }, body, options })
  }
}

export class CustomObjectsEventsRoutes extends Resource {
  /**
   * List the events that an object has published, newest first.
   *
   * `GET /v1/custom-objects/{ref}/events`; may answer `not_found`
   */
  list(ref: string, query?: CustomObjectsEventsListQuery, options?: RequestOptions): PageList<ObjectEvent> {
    return this.listed<ObjectEvent>('customObjects.events.list', { params: { ref }, query, options })
  }
}

export class FilesRoutes extends Resource {
  /**
   * Read a piece of a file.
   *
   * With the owner's token any file that the daemon may read; with a node's, what lies in its working directory and its mounts. Only regular files are read.
   *
   * `GET /v1/files/peek`; may answer `not_found`, `path_outside_scope`, `file_access_denied`, `not_a_file`, `not_a_directory`
   */
  read(query: FilesReadQuery, options?: RequestOptions): Promise<FileContent> {
    return this.call<FileContent>('files.read', { query, options })
  }

  /**
   * Write a whole file, atomically.
   *
   * The file is replaced as a whole or not at all, durably, and keeps its permissions. At most 1 MiB of decoded bytes; more is refused and nothing is written.
   *
   * `POST /v1/files/write`; may answer `not_found`, `path_outside_scope`, `file_access_denied`, `not_a_file`, `not_a_directory`, `file_too_large`, `precondition_failed`, `already_exists`, `storage_full`
   */
  write(body: FileWrite, options?: RequestOptions): Promise<FileWritten> {
    return this.call<FileWritten>('files.write', { body, options })
  }

  /**
   * List a directory, by pages.
   *
   * Entries by the bytes of their names. What is made or removed between two pages neither shifts nor doubles the others.
   *
   * `GET /v1/files/list`; may answer `not_found`, `path_outside_scope`, `file_access_denied`, `not_a_directory`
   */
  list(query: FilesListQuery, options?: RequestOptions): PageList<FileEntry> {
    return this.listed<FileEntry>('files.list', { query, options })
  }
}

export class GrantRoutes extends Resource {
  /**
   * The grant of the calling app.
   *
   * With `wait` and `since` the answer is held until the version is newer than `since`; a `since` that is older already is answered at once; when the time is over, the grant comes unchanged.
   *
   * `GET /v1/grant`
   */
  get(query?: GrantGetQuery, options?: RequestOptions): Promise<Grant> {
    return this.call<Grant>('grant.get', { query, options })
  }
}

export class HealthRoutes extends Resource {
  /**
   * Liveness of the application listener.
   *
   * `GET /v1/health`
   */
  get(options?: RequestOptions): Promise<HealthGetResponse> {
    return this.call<HealthGetResponse>('health.get', { options })
  }
}

export class HumanRoutes extends Resource {}

export class HumanRequestsRoutes extends Resource {
  /**
   * Ask a person; the answer comes as mail to the node that asked.
   *
   * Nothing waits on it: the question is kept until it is answered, dismissed, canceled or past its deadline, and the asker is woken then.
   *
   * `POST /v1/human/requests`; may answer `not_found`, `illegal_transition`, `quota_exceeded`
   */
  create(body: HumanRequestCreate, options?: RequestOptions): Promise<HumanRequest> {
    return this.call<HumanRequest>('human.requests.create', { body, options })
  }

  /**
   * Read a request, or wait until it is resolved.
   *
   * `GET /v1/human/requests/{id}`; may answer `not_found`
   */
  retrieve(id: string, query?: HumanRequestsRetrieveQuery, options?: RequestOptions): Promise<HumanRequest> {
    return this.call<HumanRequest>('human.requests.retrieve', { params: { id }, query, options })
  }

  /**
   * Put another question in the place of an open one.
   *
   * `PUT /v1/human/requests/{id}`; may answer `not_found`, `already_resolved`, `request_expired`, `precondition_failed`
   */
  replace(id: string, body: HumanRequestReplace, options?: RequestOptions): Promise<HumanRequest> {
    return this.call<HumanRequest>('human.requests.replace', { params: { id }, body, options })
  }

  /**
   * Answer a request, once and for good.
   *
   * `POST /v1/human/requests/{id}/respond`; may answer `not_found`, `already_resolved`, `request_expired`, `precondition_failed`
   */
  respond(id: string, body: HumanRespondBody, options?: RequestOptions): Promise<HumanRequest> {
    return this.call<HumanRequest>('human.requests.respond', { params: { id }, body, options })
  }

  /**
   * Decline to answer; the asker hears it.
   *
   * `POST /v1/human/requests/{id}/dismiss`; may answer `not_found`, `already_resolved`, `request_expired`
   */
  dismiss(id: string, body: HumanReasonBody, options?: RequestOptions): Promise<HumanRequest> {
    return this.call<HumanRequest>('human.requests.dismiss', { params: { id }, body, options })
  }

  /**
   * Withdraw a request.
   *
   * `POST /v1/human/requests/{id}/cancel`; may answer `not_found`, `already_resolved`, `request_expired`
   */
  cancel(id: string, body: HumanReasonBody, options?: RequestOptions): Promise<HumanRequest> {
    return this.call<HumanRequest>('human.requests.cancel', { params: { id }, body, options })
  }
}

export class ModelsRoutes extends Resource {}

export class ModelsConfigRoutes extends Resource {
  /**
   * Change providers, ladders, prices and limits; absent fields stay.
   *
   * `PUT /v1/model-config`; may answer `precondition_failed`
   */
  update(body: ModelConfigUpdate, options?: RequestOptions): Promise<ModelConfig> {
    return this.call<ModelConfig>('models.config.update', { body, options })
  }
}

export class ModelsCredentialsRoutes extends Resource {
  /**
   * List the installed credentials, without their material.
   *
   * `GET /v1/model-auth`
   */
  list(options?: RequestOptions): PageList<ModelCredential> {
    return this.listed<ModelCredential>('models.credentials.list', { options })
  }

  /**
   * Install or replace the credential of a provider.
   *
   * `PUT /v1/model-auth/{provider}`; may answer `not_found`
   */
  install(provider: string, body: CredentialInstall, options?: RequestOptions): Promise<ModelCredential> {
    return this.call<ModelCredential>('models.credentials.install', { params: { provider }, body, options })
  }

  /**
   * Remove the credential of a provider.
   *
   * `DELETE /v1/model-auth/{provider}`; may answer `not_found`
   */
  remove(provider: string, options?: RequestOptions): Promise<void> {
    return this.call<void>('models.credentials.remove', { params: { provider }, options })
  }
}

export class NodesRoutes extends Resource {
  /**
   * Create a node and hand it work.
   *
   * `POST /v1/nodes`; may answer `scope_exceeds_ceiling`, `worktree_refused`, `not_found`, `quota_exceeded`, `model_not_configured`, `illegal_transition`, `sandbox_required`, `path_outside_scope`
   */
  create(body: NodeCreate, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.create', { body, options })
  }

  /**
   * Read one node.
   *
   * `GET /v1/nodes/{id}`; may answer `not_found`
   */
  retrieve(id: string, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.retrieve', { params: { id }, options })
  }

  /**
   * List nodes, newest first.
   *
   * `GET /v1/nodes`
   */
  list(query?: NodesListQuery, options?: RequestOptions): PageList<Node> {
    return this.listed<Node>('nodes.list', { query, options })
  }

  /**
   * Send a node a message; a dormant or ended one is resumed.
   *
   * `POST /v1/nodes/{id}/message`; may answer `not_found`, `illegal_transition`, `quota_exceeded`
   */
  message(id: string, body: MessageBody, options?: RequestOptions): Promise<MessageReceipt> {
    return this.call<MessageReceipt>('nodes.message', { params: { id }, body, options })
  }

  /**
   * Abort the running turn; the node stays alive.
   *
   * `POST /v1/nodes/{id}/interrupt`; may answer `not_found`, `illegal_transition`
   */
  interrupt(id: string, options?: RequestOptions): Promise<NodesInterruptResponse> {
    return this.call<NodesInterruptResponse>('nodes.interrupt', { params: { id }, options })
  }

  /**
   * Cancel a node for good, with all below it that nobody else watches.
   *
   * Ends the node and every node below it all of whose subscribers end with it; those that somebody outside watches are spared and go on where they are.
   *
   * `POST /v1/nodes/{id}/cancel`; may answer `not_found`, `illegal_transition`
   */
  cancel(id: string, options?: RequestOptions): Promise<CancelResult> {
    return this.call<CancelResult>('nodes.cancel', { params: { id }, options })
  }

  /**
   * Read how the present piece of work ended, or wait for it.
   *
   * `GET /v1/nodes/{id}/outcome`; may answer `not_found`
   */
  outcome(id: string, query?: NodesOutcomeQuery, options?: RequestOptions): Promise<Outcome> {
    return this.call<Outcome>('nodes.outcome', { params: { id }, query, options })
  }

  /**
   * Read the durable events of a node: live as a stream, or by pages.
   *
   * `GET /v1/nodes/{id}/events`; may answer `not_found`, `cursor_expired`, `malformed_request`
   */
  events(id: string, query?: NodesEventsQuery, options?: StreamOptions): Feed<NodeEvent> {
    return this.fed<NodeEvent>('nodes.events', { params: { id }, query, options })
  }

  /**
   * Watch a node: a snapshot, then events and live deltas.
   *
   * `GET /v1/nodes/{id}/stream`; may answer `not_found`, `cursor_expired`, `malformed_request`
   */
  stream(id: string, query?: NodesStreamQuery, options?: StreamOptions): EventStream<StreamItem> {
    return this.streamed<StreamItem>('nodes.stream', { params: { id }, query, options })
  }

  /**
   * Change the name, description, model or lifecycle of a node.
   *
   * A live node works with it from its next step on. What says only what is so already changes nothing, whatever `if_match` says. A resident that becomes terminal owes a final report: if it rests, it is woken and told so.
   *
   * `PATCH /v1/nodes/{id}`; may answer `not_found`, `illegal_transition`, `precondition_failed`, `model_not_configured`, `quota_exceeded`
   */
  update(id: string, body: NodeUpdate, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.update', { params: { id }, body, options })
  }

  /**
   * Make a node an orchestrator, with a roadmap of its own.
   *
   * A node that is one already answers `illegal_transition` with the state `orchestrator`. A roadmap that it has is kept unless the body holds another.
   *
   * `POST /v1/nodes/{id}/promote`; may answer `not_found`, `illegal_transition`, `model_not_configured`, `quota_exceeded`
   */
  promote(id: string, body: Promotion, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.promote', { params: { id }, body, options })
  }

  /**
   * Make a resident node terminal: it owes a final report.
   *
   * One that rests is woken and told so. A node that is terminal already answers `illegal_transition` with the state `terminal`.
   *
   * `POST /v1/nodes/{id}/demote`; may answer `not_found`, `illegal_transition`, `quota_exceeded`
   */
  demote(id: string, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.demote', { params: { id }, options })
  }

  /**
   * List the nodes that owe work which nobody does, and revive them when confirmed.
   *
   * Those that died with their work unfinished, and those that rest, owe a report and wait for nothing. They come the oldest first; what is left after `limit` is found by asking again.
   *
   * `POST /v1/nodes/revive-all`; may answer `not_found`
   */
  reviveAll(body: ReviveAllBody, options?: RequestOptions): Promise<ReviveAllAnswer> {
    return this.call<ReviveAllAnswer>('nodes.reviveAll', { body, options })
  }

  /**
   * End the turn until something happens, or wait for a status of another node.
   *
   * With the node's own token: it is released at the end of its turn, whatever its lifecycle, and woken by mail or when `timeout` has passed. With any other token: the answer is held, at most 60 s, until the node has one of the statuses.
   *
   * `POST /v1/nodes/{id}/wait`; may answer `not_found`, `illegal_transition`, `stale_generation`
   */
  wait(id: string, body: NodesWaitBody, options?: RequestOptions): Promise<NodesWaitResponse> {
    return this.call<NodesWaitResponse>('nodes.wait', { params: { id }, body, options })
  }

  /**
   * Give a node a fresh context, with a note to its future self.
   *
   * While a turn runs the fresh context begins at its end; a node that rests begins it when it is woken. What it is, its subscriptions and its unread mail stay. A program has no context: 422.
   *
   * `POST /v1/nodes/{id}/yield`; may answer `not_found`, `illegal_transition`
   */
  yield(id: string, body: NodesYieldBody, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.yield', { params: { id }, body, options })
  }

  /**
   * Bring a node back, from any state.
   *
   * One that had ended begins a new piece of work: with `prompt`, else it is told from what it was brought back; a program is given its first prompt again. One that is at work stays so, in `fresh` mode as by `yield`; one that waits for another try is tried now. What was canceled with it stays canceled.
   *
   * `POST /v1/nodes/{id}/revive`; may answer `not_found`, `illegal_transition`, `quota_exceeded`
   */
  revive(id: string, body: NodesReviveBody, options?: RequestOptions): Promise<NodesReviveResponse> {
    return this.call<NodesReviveResponse>('nodes.revive', { params: { id }, body, options })
  }

  /**
   * Copy the conversation of a node, up to the end of a turn, to a new node.
   *
   * The source is not touched. The copy is told whose copy it is, and that nothing which the source promised or started is its own. A program has no conversation: 422.
   *
   * `POST /v1/nodes/{id}/fork`; may answer `not_found`, `illegal_transition`, `quota_exceeded`, `model_not_configured`, `sandbox_required`, `path_outside_scope`
   */
  fork(id: string, body: NodesForkBody, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.fork', { params: { id }, body, options })
  }

  /**
   * End a root with its newest report, and have a new one take its place.
   *
   * The new root has what the old one watched, its watchers, its children and its unread mail. A node that is no root answers `illegal_transition` with the state `child`.
   *
   * `POST /v1/nodes/{id}/recycle`; may answer `not_found`, `illegal_transition`
   */
  recycle(id: string, body: NodesRecycleBody, options?: RequestOptions): Promise<NodesRecycleResponse> {
    return this.call<NodesRecycleResponse>('nodes.recycle', { params: { id }, body, options })
  }

  /**
   * Boot a new root, and let it take the place of the old one once it lives.
   *
   * The old root is not touched until a process hosts the new one; then what is below the old root is canceled, unless somebody else watches it, and the old root ends. If the new one does not come to life, `succession` says `failed` and nothing else has changed.
   *
   * `POST /v1/nodes/{id}/relaunch-root`; may answer `not_found`, `illegal_transition`
   */
  relaunchRoot(id: string, body: NodesRelaunchRootBody, options?: RequestOptions): Promise<NodesRelaunchRootResponse> {
    return this.call<NodesRelaunchRootResponse>('nodes.relaunchRoot', { params: { id }, body, options })
  }
}

export class NodesJobsRoutes extends Resource {
  /**
   * List the background jobs of a node, newest first.
   *
   * `GET /v1/nodes/{id}/jobs`; may answer `not_found`
   */
  list(id: string, query?: NodesJobsListQuery, options?: RequestOptions): PageList<Job> {
    return this.listed<Job>('nodes.jobs.list', { params: { id }, query, options })
  }

  /**
   * End a background job with all that it started: SIGTERM, and SIGKILL after 5 s.
   *
   * Answers at once; the job is `killed` when everything that it started is gone. One that has ended stays as it is.
   *
   * `POST /v1/nodes/{id}/jobs/{job_id}/cancel`; may answer `not_found`
   */
  cancel(id: string, job_id: string, options?: RequestOptions): Promise<Job> {
    return this.call<Job>('nodes.jobs.cancel', { params: { id, job_id }, options })
  }
}

export class NodesReportsRoutes extends Resource {
  /**
   * List the reports of a node, oldest first.
   *
   * `GET /v1/nodes/{id}/reports`; may answer `not_found`
   */
  list(id: string, query?: NodesReportsListQuery, options?: RequestOptions): PageList<Report> {
    return this.listed<Report>('nodes.reports.list', { params: { id }, query, options })
  }
}

export class NodesResultRoutes extends Resource {
  /**
   * Submit the typed result, exactly once.
   *
   * `POST /v1/nodes/{id}/result`; may answer `not_found`, `result_already_submitted`, `result_schema_mismatch`, `illegal_transition`
   */
  submit(id: string, body: NodesResultSubmitBody, options?: RequestOptions): Promise<Outcome> {
    return this.call<Outcome>('nodes.result.submit', { params: { id }, body, options })
  }
}

export class NodesWorktreeRoutes extends Resource {
  /**
   * Remove a node's worktree and keep its branch.
   *
   * Commits stay on the branch. A tree with changes that are not committed is refused unless `force`, and so is one in use: its node, a node that works inside or a job. A node can not close its own: it reports, then its parent or the owner closes.
   *
   * `POST /v1/nodes/{id}/worktree/close`; may answer `not_found`, `illegal_transition`, `worktree_dirty`, `worktree_busy`, `version_conflict`
   */
  close(id: string, body: NodesWorktreeCloseBody, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.worktree.close', { params: { id }, body, options })
  }

  /**
   * Remove a node's worktree and its branch.
   *
   * Whatever the tree and the branch hold goes; `worktree.commit` says where the branch pointed, so that `git branch <name> <commit>` brings its commits back until git collects them.
   *
   * `POST /v1/nodes/{id}/worktree/abandon`; may answer `not_found`, `illegal_transition`, `worktree_busy`, `version_conflict`
   */
  abandon(id: string, options?: RequestOptions): Promise<Node> {
    return this.call<Node>('nodes.worktree.abandon', { params: { id }, options })
  }
}

export class ProfilesRoutes extends Resource {
  /**
   * Make a profile what the body says.
   *
   * A body that says what the profile says already changes nothing and answers the same version. Nodes that were made with it before stay as they are.
   *
   * `PUT /v1/profiles/{name}`; may answer `precondition_failed`
   */
  ensure(name: string, body: ProfileBody, options?: RequestOptions): Promise<Profile> {
    return this.call<Profile>('profiles.ensure', { params: { name }, body, options })
  }

  /**
   * Read a profile.
   *
   * `GET /v1/profiles/{name}`; may answer `not_found`
   */
  retrieve(name: string, options?: RequestOptions): Promise<Profile> {
    return this.call<Profile>('profiles.retrieve', { params: { name }, options })
  }
}

export class SystemRoutes extends Resource {
  /**
   * State of the daemon and of each of its parts.
   *
   * `GET /v1/status`
   */
  status(options?: RequestOptions): Promise<SystemStatus> {
    return this.call<SystemStatus>('system.status', { options })
  }

  /**
   * Liveness of the daemon.
   *
   * `GET /healthz`
   */
  health(options?: RequestOptions): Promise<SystemHealthResponse> {
    return this.call<SystemHealthResponse>('system.health', { options })
  }
}

export class TokensRoutes extends Resource {
  /**
   * Mint a token for an app.
   *
   * The token stands in the first answer alone: a repetition with the same idempotency key answers the record with `token` null, and whoever lost it rotates the record. It expires after 90 days unless the body says otherwise. Its list must lie within the grant of the app, which is its ceiling at every later moment too.
   *
   * `POST /v1/tokens`; may answer `not_found`, `scope_exceeds_ceiling`, `grant_revoked`
   */
  create(body: TokenBody, options?: RequestOptions): Promise<MintedToken> {
    return this.call<MintedToken>('tokens.create', { body, options })
  }

  /**
   * Tokens, the newest first.
   *
   * `GET /v1/tokens`; may answer `not_found`
   */
  list(query?: TokensListQuery, options?: RequestOptions): PageList<Token> {
    return this.listed<Token>('tokens.list', { query, options })
  }

  /**
   * Read what is known of a token.
   *
   * `GET /v1/tokens/{id}`; may answer `not_found`
   */
  retrieve(id: string, options?: RequestOptions): Promise<Token> {
    return this.call<Token>('tokens.retrieve', { params: { id }, options })
  }

  /**
   * Replace a token by a new one that may do the same.
   *
   * The old one goes on for `overlap` seconds; a token is replaced once, its successor after it. The new one lives as long as the old one was to. Nothing that runs is stopped: authority is the grant's, a token is a key to it. The owner's own token can be rotated too; its file holds the new one before the old one ends.
   *
   * `POST /v1/tokens/{id}/rotate`; may answer `not_found`, `token_spent`, `file_access_denied`
   */
  rotate(id: string, body: TokensRotateBody, options?: RequestOptions): Promise<MintedToken> {
    return this.call<MintedToken>('tokens.rotate', { params: { id }, body, options })
  }

  /**
   * End a token; a repetition changes nothing.
   *
   * Its next call is refused and its open streams end within a second on every gateway. The owner's own is rotated, not revoked.
   *
   * `DELETE /v1/tokens/{id}`; may answer `not_found`, `owner_token_needed`
   */
  revoke(id: string, options?: RequestOptions): Promise<void> {
    return this.call<void>('tokens.revoke', { params: { id }, options })
  }

  /**
   * What the token of this request stands for.
   *
   * `GET /v1/token`
   */
  self(options?: RequestOptions): Promise<TokenSelf> {
    return this.call<TokenSelf>('tokens.self', { options })
  }
}
