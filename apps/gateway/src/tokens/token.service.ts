import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type MintedToken, type OutputOf, type Token } from '#common/contract/index.js'
import { appScopes } from '#common/kernel/app-scopes.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { exceeding } from '#common/kernel/scopes.js'
import type { AppRecord } from '../apps/app.record.js'
import { AppRepository } from '../apps/app.repository.js'
import { hiddenApp } from '../apps/grant.rules.js'
import { TrustTail } from '../trust/trust.tail.js'
import { OwnerToken } from './owner.token.js'
import { type Fresh, freshToken } from './token.mint.js'
import { type TokenRecord, TokenRepository } from './token.repository.js'
import { statusOf, toToken } from './token.view.js'

const create = contract['tokens.create']
const rotate = contract['tokens.rotate']
type CreateInput = InputOf<typeof create>
type RotateInput = InputOf<typeof rotate>

const missing = (id: string): SvcError => new SvcError('not_found', `There is no token ${id}.`, { id })

const invalid = (pointer: string, message: string): SvcError =>
  new SvcError('validation_failed', message, { errors: [{ pointer, message }] })

/** Tokens as their owner handles them. What a token may do is its grant's; here is who holds a key to it. */
@Injectable()
export class TokenService {
  constructor(
    @Inject(Writer) private readonly writer: Writer,
    @Inject(TokenRepository) private readonly tokens: TokenRepository,
    @Inject(AppRepository) private readonly apps: AppRepository,
    @Inject(OwnerToken) private readonly owner: OwnerToken,
    @Inject(TrustTail) private readonly trust: TrustTail,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Mints a token for an app. Whoever dies between the commit and the answer has lost the token: the repeated key answers
   * its record, which can be rotated.
   *
   * @throws SvcError `not_found`, `validation_failed`, `grant_revoked`, `scope_exceeds_ceiling`, and those of a used key.
   */
  async create(ctx: Context, input: CreateInput): Promise<MintedToken> {
    return this.#once(ctx, { operation: create.name, input }, async (tx) => {
      const app = await this.apps.lock(tx, input.app)
      if (!app) throw hiddenApp(input.app)
      const { grant } = app
      if (grant.status !== 'active') throw new SvcError('grant_revoked', undefined, { app_id: app.id })
      requireProfile(app, input.profile)
      const lifetime = input.expires_in === null ? null : input.expires_in * 1000
      const asked = {
        kind: 'app' as const,
        label: input.label ?? null,
        appId: app.id,
        profile: input.profile ?? null,
        scopes: input.scopes === undefined ? [] : withinGrant(app, input.scopes),
        followsGrant: input.scopes === undefined,
        lifetime,
      }
      const fresh = freshToken(asked, this.clock.now())
      await this.tokens.insert(tx, fresh.record)
      return fresh
    })
  }

  /** @throws SvcError `not_found` for an app that there isn't. */
  async list(input: InputOf<(typeof contract)['tokens.list']>): Promise<OutputOf<(typeof contract)['tokens.list']>> {
    const app = input.app === undefined ? undefined : await this.apps.find(input.app)
    // tokens of an app outlive it, by its id
    if (input.app !== undefined && !app && !input.app.startsWith('app_')) throw hiddenApp(input.app)
    const filter = { status: input.status, appId: app?.id ?? input.app }
    const rows = await this.tokens.page(filter, input.limit + 1, readCursor(input.after))
    const now = this.clock.now()
    const page = pageOf(rows, input.limit, ({ createdAt, id }) => cursorAfter(new Date(createdAt), id))
    return { ...page, data: page.data.map((token) => toToken(token, now)) }
  }

  /** @throws SvcError `not_found`. */
  async retrieve(id: string): Promise<Token> {
    const token = await this.tokens.find(id)
    if (!token) throw missing(id)
    return toToken(token, this.clock.now())
  }

  /**
   * A new token in the place of one, which goes on for `overlap` seconds.
   *
   * @throws SvcError `not_found`, `token_spent`, `file_access_denied` where the file of the owner's token can't be written.
   */
  async rotate(ctx: Context, input: RotateInput): Promise<MintedToken> {
    let former: string | undefined
    try {
      return await this.#once(ctx, { operation: rotate.name, input }, async (tx) => {
        const old = await this.#spendable(tx, input.id)
        const lifetime = old.expiresAt === null ? null : old.expiresAt - old.createdAt
        const now = this.clock.now()
        const fresh = freshToken({ ...old, lifetime, rotatedFrom: old.id }, now)
        if (input.overlap > 0) await this.tokens.expire(tx, old.id, now + input.overlap * 1000)
        else await this.tokens.revoke(tx, old.id, now)
        await this.tokens.insert(tx, fresh.record)
        if (old.kind === 'own') {
          const before = this.owner.put(fresh.text)
          former ??= before
        }
        tx.afterCommit(() => this.trust.tell({ tokens: [old.id] }))
        return fresh
      })
    } catch (error) {
      if (former !== undefined) this.owner.settle(former)
      throw error
    }
  }

  /** @throws SvcError `not_found`, `owner_token_needed`. */
  async revoke(ctx: Context, id: string): Promise<undefined> {
    await this.writer.transact(ctx, async ({ tx }) => {
      const token = await this.tokens.lock(tx, id)
      if (!token) throw missing(id)
      if (token.kind === 'own' && token.expiresAt === null && token.revokedAt === null) {
        throw new SvcError('owner_token_needed', undefined, { id })
      }
      await this.tokens.revoke(tx, id, this.clock.now())
      tx.afterCommit(() => this.trust.tell({ tokens: [id] }))
    })
    return undefined
  }

  /** The first answer holds the token; what is kept of it for a repetition does not. */
  async #once(
    ctx: Context,
    request: { operation: string; input: unknown },
    work: (tx: Tx) => Promise<Fresh>,
  ): Promise<MintedToken> {
    let token: string | null = null
    const { value, replayed } = await this.writer.once(ctx, request, async ({ tx }) => {
      const { text, record } = await work(tx)
      token = text
      return { ...toToken(record, this.clock.now()), token: null }
    })
    return replayed ? value : { ...value, token }
  }

  /** A token that works and was not replaced before, locked. */
  async #spendable(tx: Tx, id: string): Promise<TokenRecord> {
    const token = await this.tokens.lock(tx, id)
    if (!token) throw missing(id)
    const status = statusOf(token, this.clock.now())
    const successor = await this.tokens.successorOf(tx, id)
    if (successor) {
      throw new SvcError('token_spent', 'The token was replaced already.', {
        id,
        status,
        successor,
        remedy: `Rotate the one that took its place: \`svc sys tokens rotate ${successor}\`.`,
      })
    }
    if (status !== 'active') throw new SvcError('token_spent', undefined, { id, status })
    return token
  }
}

const requireProfile = ({ grant }: AppRecord, profile: string | undefined): void => {
  if (profile === undefined || grant.profiles === null || grant.profiles.includes(profile)) return
  throw invalid('/profile', `The grant of the app is not for its profile ${profile}.`)
}

/** The list as it is kept. @throws SvcError `validation_failed`, `scope_exceeds_ceiling` that names each. */
const withinGrant = ({ id, grant }: AppRecord, asked: readonly string[]): string[] => {
  const scopes = appScopes(asked, id)
  const outside = exceeding(scopes, grant.scopes)
  if (outside.length === 0) return scopes
  throw new SvcError('scope_exceeds_ceiling', `The grant of the app does not hold ${outside.join(', ')}.`, {
    scopes: outside,
    remedy: 'Leave them out, or let the owner widen the grant first: `svc app grant`.',
  })
}
