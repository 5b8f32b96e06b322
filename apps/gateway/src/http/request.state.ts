import type { FastifyRequest } from 'fastify'
import type { Listener, Operation } from '#common/contract/define.js'
import type { Actor } from '#common/kernel/context.js'
import type { Caller } from './client.address.js'

/** Where a request came in; the owner's socket can be reached by no browser. */
export interface Entrance {
  readonly listener: Listener
  readonly socket: boolean
  readonly tls: boolean
  /** Whether it is being closed: its connections end with the answer that is under way. */
  closing?: boolean
}

/** What is known of a request while it is served. */
export interface RequestState extends Caller {
  readonly entrance: Entrance
  /** Fires when the client has gone, or when the gateway gives up draining. */
  readonly gone: AbortController
  /** Of the page that asks, where a browser does and was let through. */
  origin?: string
  /** Whether its answer is held back until something happens: asked again after a restart it loses nothing. */
  held?: boolean
  /** Whether it takes long enough that it must end when it is no longer permitted. */
  lasts?: boolean
  actor?: Actor
  /** The token that it came with, to be looked at again while it is answered. */
  bearer?: string
  /** What its gate was opened for. */
  admitted?: { readonly entry: Operation; readonly nodeId: string | undefined }
}

const key = Symbol('svc.request')
const operationKey = Symbol('svc.operation')

interface Marked {
  [key]?: RequestState
}

export const markRequest = (raw: object, state: RequestState): void => {
  ;(raw as Marked)[key] = state
}

/** @throws Error for a request that came in through none of our listeners. */
export const stateOf = (request: FastifyRequest): RequestState => {
  const state = (request.raw as Marked)[key]
  if (!state) throw new Error('a request came in through no listener')
  return state
}

/** The contract's entry that a handler was made from. */
export const markHandler = (handler: object, entry: Operation): void => {
  ;(handler as { [operationKey]?: Operation })[operationKey] = entry
}

export const operationOf = (handler: object): Operation => {
  const entry = (handler as { [operationKey]?: Operation })[operationKey]
  if (!entry) throw new Error('a handler was made from no entry of the contract')
  return entry
}
