// Made from the contract by `npm run gen`. Do not edit.

import type { PageList } from '../page.js'
import type { RequestOptions, StreamOptions } from '../options.js'
import { Resource } from '../resource.js'
import type { EventStream } from '../event-stream.js'
import type { Feed } from '../feed.js'
import type {
  CancelResult,
  CredentialInstall,
  HealthGetResponse,
  MessageBody,
  MessageReceipt,
  ModelConfig,
  ModelConfigUpdate,
  ModelCredential,
  Node,
  NodeCreate,
  NodeEvent,
  NodesInterruptResponse,
  NodesResultSubmitBody,
  Outcome,
  Report,
  StreamItem,
  SystemHealthResponse,
  SystemStatus,
} from './types.js'

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

export interface NodesReportsListQuery {
  /** Entries a page, 1 to 200; default 50. */
  limit?: number
  /** Cursor of the previous page; at most 512 characters. */
  after?: string
}

export class AuthRoutes extends Resource {}

export class CanvasRoutes extends Resource {}

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
   * `POST /v1/nodes`; may answer `scope_exceeds_ceiling`, `not_found`, `quota_exceeded`, `model_not_configured`, `illegal_transition`
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
   * Cancel a node for good.
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
