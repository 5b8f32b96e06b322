import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { type Actor, appPrincipal } from '#common/kernel/context.js'
import { hasCode, isSvcError, SvcError } from '#common/kernel/errors.js'
import { digestToken, hashToken, parseToken, sameHash, verifyNodeToken } from '#common/kernel/tokens.js'
import { Grants } from '../apps/grants.js'
import type { HeldGrant } from '../apps/held.grant.js'
import { TrustTail } from '../trust/trust.tail.js'
import { BoundedCache } from './bounded.cache.js'
import { orLastKnown } from './last.known.js'
import { NodePrincipals } from './node.principals.js'
import { type TokenRecord, TokenRepository, tokenIdOf } from './token.repository.js'
import { TokenUse } from './token.use.js'

/** What a token proved to be; which authority that carries is looked up afresh. */
type Proof =
  | { readonly kind: 'node'; readonly nodeId: string; readonly generation: number; readonly tokenId: string }
  | {
      readonly kind: 'kept'
      readonly token: TokenRecord
      /** When the row was read, and when that was last tried (monotonic ms). */
      readonly read: number
      readonly tried: number
    }

/** The key of nodes' tokens as a Nest provider's token. */
export const NODE_TOKEN_KEY = Symbol('node token key')

const capacity = 20_000
/**
 * How long a kept token is believed without looking (ms), although its change would be told; and how long while the
 * database can't be asked.
 */
const timeToLive = 500
const outageTime = 15 * 60_000

/** What a list comes to under the grant of its app as it is now. */
const heldTo = (
  grant: HeldGrant,
  list: readonly string[] | null,
  profile: string | null,
): Pick<Actor, 'scopes' | 'grantRevoked'> =>
  grant.isRevoked(profile) ? { scopes: [], grantRevoked: true } : { scopes: grant.within(list) }

const appActor = (token: TokenRecord, appId: string, grant: HeldGrant): Actor => ({
  kind: 'app',
  principal: appPrincipal(appId, token.profile),
  tokenId: token.id,
  ...heldTo(grant, token.followsGrant ? null : token.scopes, token.profile),
  appId,
  ...(token.profile !== null && { profile: token.profile }),
})

/** Tells from a bearer token on whose behalf a request is made. */
@Injectable()
export class TokenVerifier implements OnModuleInit {
  readonly #proofs = new BoundedCache<string, Proof>(capacity)
  /** Keys of the proofs of kept tokens, by the id of the token. */
  readonly #keys = new BoundedCache<string, string>(capacity)
  /** Look-ups under way: those who ask for the same token wait for the same answer. */
  readonly #asking = new Map<string, Promise<Proof>>()
  /** Grows when a token changes: what was read before may be what it was. */
  #changes = 0

  constructor(
    @Inject(TokenRepository) private readonly repository: TokenRepository,
    @Inject(NodePrincipals) private readonly principals: NodePrincipals,
    @Inject(NODE_TOKEN_KEY) private readonly nodeKey: Buffer,
    @Inject(TokenUse) private readonly uses: TokenUse,
    @Inject(Grants) private readonly grants: Grants,
    @Inject(TrustTail) private readonly trust: TrustTail,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.trust.listen((change) => this.#forget(change?.tokens ?? []))
  }

  /** Whether this very token proved right lately. */
  knows(token: string): boolean {
    return this.#proofs.get(digestToken(token)) !== undefined
  }

  /** As `verify`, for a request that came with it: remembers that it was used. */
  async use(token: string): Promise<Actor> {
    const actor = await this.verify(token)
    if (actor.kind !== 'node' && actor.tokenId !== null) this.uses.note(actor.tokenId)
    return actor
  }

  /**
   * @throws SvcError `token_invalid`, `token_expired`, `token_revoked`; `service_unavailable` when what the token stands
   * for can't be asked.
   */
  async verify(token: string): Promise<Actor> {
    const key = digestToken(token)
    const known = this.#proofs.get(key)
    if (known?.kind === 'node') return this.#nodeActor(known)
    const now = this.clock.monotonic()
    if (known && now - known.tried < timeToLive) return this.#actorOf(known.token)
    const asked = this.#proveOnce(key, token, known)
    const proof = await (known ? orLastKnown(this.clock, asked, () => this.#stillBelieved(key)) : asked)
    return proof.kind === 'node' ? this.#nodeActor(proof) : this.#actorOf(proof.token)
  }

  #proveOnce(key: string, token: string, known: Proof | undefined): Promise<Proof> {
    const asking = this.#asking.get(key)
    if (asking) return asking
    const changes = this.#changes
    const proving = this.#prove(token, known)
      .then((proof) => {
        // whatever changed meanwhile, the next one who asks reads it
        if (changes === this.#changes) this.#keep(key, proof)
        return proof
      })
      .finally(() => {
        if (this.#asking.get(key) === proving) this.#asking.delete(key)
      })
    this.#asking.set(key, proving)
    return proving
  }

  /** What was known before, while a look at the row takes long; it is believed for a moment more without waiting again. */
  #stillBelieved(key: string): Proof | undefined {
    const known = this.#proofs.get(key)
    const now = this.clock.monotonic()
    if (known?.kind !== 'kept' || now - known.read >= outageTime) return undefined
    const again = { ...known, tried: now }
    this.#proofs.set(key, again)
    return again
  }

  #keep(key: string, proof: Proof): void {
    this.#proofs.set(key, proof)
    if (proof.kind === 'kept') this.#keys.set(proof.token.id, key)
  }

  /** What is known of these tokens is not believed any more, not even while the database is away. */
  #forget(tokens: readonly string[]): void {
    if (tokens.length === 0) return
    this.#changes += 1
    this.#asking.clear()
    for (const id of tokens) {
      const key = this.#keys.get(id)
      if (key !== undefined) this.#proofs.delete(key)
    }
  }

  async #prove(token: string, known: Proof | undefined): Promise<Proof> {
    const parsed = parseToken(token)
    if (!parsed) throw new SvcError('token_invalid')
    if (parsed.kind === 'node') {
      const node = verifyNodeToken(this.nodeKey, token)
      if (!node) throw new SvcError('token_invalid')
      return { kind: 'node', ...node, tokenId: parsed.id }
    }
    const now = this.clock.monotonic()
    try {
      const record = await this.repository.find(tokenIdOf(parsed.id))
      if (!record || record.kind !== parsed.kind || !sameHash(record.hash, hashToken(token)))
        throw new SvcError('token_invalid')
      return { kind: 'kept', token: record, read: now, tried: now }
    } catch (error) {
      const unreachable = !isSvcError(error) || hasCode(error, 'service_unavailable', 'deadline_exceeded', 'internal')
      if (known?.kind === 'kept' && unreachable && now - known.read < outageTime) {
        return { ...known, tried: this.clock.monotonic() }
      }
      throw isSvcError(error) && !unreachable
        ? error
        : new SvcError('service_unavailable', undefined, { service: 'gateway' }, { cause: error })
    }
  }

  #actorOf(token: TokenRecord): Actor | Promise<Actor> {
    if (token.revokedAt !== null) throw new SvcError('token_revoked')
    if (token.expiresAt !== null && token.expiresAt <= this.clock.now()) throw new SvcError('token_expired')
    if (token.kind === 'own') return { kind: 'owner', principal: 'owner', tokenId: token.id, scopes: ['*'] }
    if (token.kind === 'pub' && token.objectRef !== null) {
      return { kind: 'pub', principal: `object:${token.objectRef}`, tokenId: token.id, scopes: [] }
    }
    // refresh and run tokens come with the parts of the daemon that hand them out
    if (token.kind !== 'app' || token.appId === null) throw new SvcError('token_invalid')
    const { appId } = token
    const grant = this.grants.of(appId)
    return 'then' in grant ? grant.then((held) => appActor(token, appId, held)) : appActor(token, appId, grant)
  }

  /**
   * The actor as the writer has it at this moment. What a node may reach on a machine is decided by its place, of which
   * a remembered answer may be behind.
   *
   * @throws SvcError `token_revoked`, `service_unavailable`.
   */
  async renew(actor: Actor): Promise<Actor> {
    const { nodeId, generation, tokenId } = actor
    if (nodeId === undefined || generation === undefined || tokenId === null) return actor
    return this.#nodeActor({ kind: 'node', nodeId, generation, tokenId }, true)
  }

  async #nodeActor({ nodeId, generation, tokenId }: Extract<Proof, { kind: 'node' }>, fresh = false): Promise<Actor> {
    const node = await this.principals.of(nodeId, fresh).catch((error: unknown) => {
      throw hasCode(error, 'not_found') ? new SvcError('token_revoked') : error
    })
    if (node.ended) throw new SvcError('token_revoked')
    const held = node.app_id === null ? undefined : await this.grants.of(node.app_id)
    return {
      kind: 'node',
      principal: `node:${nodeId}`,
      tokenId,
      ...(held ? heldTo(held, node.scopes, node.profile) : { scopes: node.scopes }),
      nodeId,
      generation,
      ...(node.app_id !== null && { appId: node.app_id }),
      ...(node.profile !== null && { profile: node.profile }),
      place: node.place,
    }
  }
}
