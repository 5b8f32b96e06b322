import { Inject, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { gatesOf, type Operation } from '#common/contract/define.js'
import type { ErrorCode } from '#common/contract/errors.js'
import { routes } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { SvcError } from '#common/kernel/errors.js'
import { type ParsedToken, parseToken } from '#common/kernel/tokens.js'
import { type RequestState, stateOf } from '../http/request.state.js'
import { tokenIdOf } from '../tokens/token.repository.js'
import type { AuditLine } from './audit.line.js'
import { AuditLog } from './audit.log.js'
import { maskedPath, withoutSecrets } from './path.mask.js'

/** Operations by method and path as the router spells it. */
const operations = new Map(
  routes.map((entry) => [`${entry.method} ${entry.path?.replace(/\{(\w+)\}/g, ':$1')}`, entry.name]),
)

/** What is done once for each of thousands of deliveries: told as reads are, alike ones in one line. */
const isFrequent = ({ name }: Operation): boolean => name === 'customObjects.ack'

const isDenial = ({ code, facts }: SvcError): boolean =>
  facts.status === 401 || facts.status === 403 || code === 'rate_limited'

/** Codes of a token that is ours: whose it was is worth knowing, and its id is no secret. */
const ours: ReadonlySet<ErrorCode> = new Set(['token_expired', 'token_revoked', 'grant_revoked'])

const idOf = (parsed: ParsedToken | null): string | null =>
  parsed && (parsed.kind === 'node' ? parsed.id : tokenIdOf(parsed.id))

const shownTokenId = ({ headers }: FastifyRequest): string | null =>
  idOf(parseToken(headers.authorization?.replace(/^bearer +/i, '') ?? ''))

const longestPrincipal = 200

const actorOf = (request: FastifyRequest, { actor }: RequestState, code: ErrorCode | null): AuditLine['actor'] =>
  actor
    ? { kind: actor.kind, principal: actor.principal.slice(0, longestPrincipal), token_id: actor.tokenId }
    : {
        kind: 'nobody',
        principal: 'nobody',
        token_id: code !== null && ours.has(code) ? shownTokenId(request) : null,
      }

/** Says of requests what the audit log is to know: who, what and whether, and nothing of what they hold. */
@Injectable()
export class AuditScribe {
  constructor(
    @Inject(AuditLog) private readonly log: AuditLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * A request that its gate let through. What the owner changes is on the disk before it is begun, acknowledgements aside.
   *
   * @throws SvcError `service_unavailable` when a change can't be written down
   */
  admitted(entry: Operation, request: FastifyRequest): true | Promise<true> {
    const state = stateOf(request)
    if (state.actor?.kind !== 'owner' || !gatesOf(entry).includes('owner')) return true
    const line = this.#lineOf(request, state, null)
    if (entry.method !== 'GET' && !isFrequent(entry)) return this.log.append(line).then(() => true as const)
    this.log.note(line)
    return true
  }

  /** A request that was refused, by whichever part of the daemon. */
  refused(request: FastifyRequest, error: SvcError): void {
    if (isDenial(error)) this.log.note(this.#lineOf(request, stateOf(request), error.code))
  }

  #lineOf(request: FastifyRequest, state: RequestState, code: ErrorCode | null): AuditLine {
    return {
      at: this.clock.now(),
      actor: actorOf(request, state, code),
      operation: operations.get(`${request.method} ${request.routeOptions?.url}`) ?? null,
      resource: maskedPath(request.url),
      decision: code === null ? 'allowed' : 'denied',
      code,
      listener: state.entrance.listener,
      remote: state.remote,
      request_id: withoutSecrets(request.id),
      repeated: 1,
    }
  }
}
