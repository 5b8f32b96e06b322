import type { FastifyReply, FastifyRequest } from 'fastify'
import { SvcError } from '#common/kernel/errors.js'
import type { AllowedHosts } from './allowed.hosts.js'
import type { AllowedOrigins } from './allowed.origins.js'
import { hostHeadersOf } from './client.address.js'
import { commonHeaders } from './common.headers.js'
import { allowReading, answerPreflight, isPreflight } from './cors.js'
import { type RequestState, stateOf } from './request.state.js'

/** Headers that one request may have; clients send a dozen. */
const mostHeaders = 100

export interface Edge {
  readonly hosts: AllowedHosts
  readonly origins: AllowedOrigins
  isDraining(): boolean
}

const requireFewHeaders = ({ raw }: FastifyRequest): void => {
  if (raw.rawHeaders.length > 2 * mostHeaders) {
    throw new SvcError('headers_too_large', `A request has at most ${mostHeaders} headers.`)
  }
}

/** Every name that the request calls the daemon by. No browser reaches a socket of the file system. */
const requireHost = ({ entrance, hosts }: RequestState, { raw }: FastifyRequest, allowed: AllowedHosts): void => {
  if (entrance.socket) return
  if (hostHeadersOf(raw).length !== 1) {
    throw new SvcError('malformed_request', 'A request names the daemon in one Host header.')
  }
  if (!hosts.every((host) => allowed.allows(host))) throw new SvcError('host_forbidden')
}

/** A page that says nothing of its origin: what it embeds, or what it links to. Only the second may be asked for. */
const isEmbedded = ({ headers }: FastifyRequest): boolean => {
  const site = headers['sec-fetch-site']
  return (site === 'cross-site' || site === 'same-site') && headers['sec-fetch-mode'] !== 'navigate'
}

/** @returns the origin of the page that asks, if one does. */
const requireOrigin = (
  { entrance, secure, hosts }: RequestState,
  request: FastifyRequest,
  origins: AllowedOrigins,
): string | undefined => {
  const { origin } = request.headers
  if (origin === undefined) {
    if (isEmbedded(request)) throw new SvcError('origin_forbidden')
    return undefined
  }
  const { listener } = entrance
  const isOwnPage = listener === 'app' && hosts.some((host) => origin === `${secure ? 'https' : 'http'}://${host}`)
  if (!isOwnPage && !origins.allows(listener, origin)) throw new SvcError('origin_forbidden')
  return isOwnPage ? undefined : origin
}

/** What holds for every request, before its token is looked at. Answers preflights, which carry none. */
export const edgeHook = ({ hosts, origins, isDraining }: Edge) => {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const state = stateOf(request)
    reply.headers(commonHeaders(state.secure)).header('x-request-id', request.id)
    if (isDraining() || state.entrance.closing) reply.header('connection', 'close')
    requireFewHeaders(request)
    requireHost(state, request, hosts)
    const origin = requireOrigin(state, request, origins)
    if (origin === undefined) return undefined
    state.origin = origin
    allowReading(reply, origin)
    if (!isPreflight(request)) return undefined
    answerPreflight(request, reply)
    return reply
  }
}
