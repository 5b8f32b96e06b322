import type { NodePlace } from '../contract/internal.operations.js'
import type { Tx } from './database/tx.js'
import { newId } from './ids.js'

/** On whose behalf something is done. `scopes` is an allow-list; the owner's is `['*']`. */
export interface Actor {
  readonly kind: 'owner' | 'app' | 'run' | 'node' | 'pub' | 'system'
  /** What authority is bound to: `owner`, `app:<id>`, `app:<id>:profile:<p>`, `node:<id>`, `system:<service>`. Tokens are only keys to it. */
  readonly principal: string
  readonly tokenId: string | null
  readonly scopes: readonly string[]
  readonly appId?: string
  readonly profile?: string
  readonly nodeId?: string
  /** Of a node's token: the generation that it was made for, which an older process can't change. */
  readonly generation?: number
  /** The grant of its app was taken back: it may do nothing that needs one. */
  readonly grantRevoked?: true
  /** Of a node's token: where the node stands; on its way to a host as the writer says at that moment. */
  readonly place?: NodePlace
}

/** What an app's authority is bound to: what it asks and the keys it uses for one profile are no other's. */
export const appPrincipal = (appId: string, profile?: string | null): string =>
  profile == null ? `app:${appId}` : `app:${appId}:profile:${profile}`

/** First argument of every service method. */
export interface Context {
  readonly actor: Actor
  readonly requestId: string
  /** W3C trace context. */
  readonly traceparent?: string
  /** Milliseconds since the epoch after which nobody waits for the answer. */
  readonly deadline?: number
  readonly idempotencyKey?: string
  readonly signal: AbortSignal
  readonly tx?: Tx
  /** What is to be known of the answer besides the answer: filled in by the service, read by the caller. */
  readonly notes?: AnswerNotes
}

export interface AnswerNotes {
  /** The answer is that of an earlier request with the same idempotency key. */
  replayed?: true
}

/** The part of a context that crosses the bus. */
export interface Envelope {
  readonly actor: Actor
  readonly requestId: string
  readonly traceparent?: string
  readonly deadline?: number
  readonly idempotencyKey?: string
}

export const envelopeOf = (ctx: Context): Envelope => ({
  actor: ctx.actor,
  requestId: ctx.requestId,
  ...(ctx.traceparent !== undefined && { traceparent: ctx.traceparent }),
  ...(ctx.deadline !== undefined && { deadline: ctx.deadline }),
  ...(ctx.idempotencyKey !== undefined && { idempotencyKey: ctx.idempotencyKey }),
})

export const contextOf = (envelope: Envelope, signal: AbortSignal): Context => ({ ...envelope, signal })

const never = new AbortController().signal

/** A context for what a service does by itself: reconciling, relaying, heartbeats. */
export const systemContext = (service: string, signal: AbortSignal = never): Context => ({
  actor: { kind: 'system', principal: `system:${service}`, tokenId: null, scopes: ['*'] },
  requestId: newId('evt').replace('evt_', 'sys_'),
  signal,
})

export const actorRefOf = (actor: Actor): { kind: Actor['kind']; id: string | null } => ({
  kind: actor.kind,
  id: actor.nodeId ?? actor.appId ?? null,
})
