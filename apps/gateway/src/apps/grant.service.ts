import { Inject, Injectable } from '@nestjs/common'
import { contract, type Grant, type InputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Writer } from '#common/kernel/database/writer.js'
import { abortedBy, SvcError } from '#common/kernel/errors.js'
import { AppRepository } from './app.repository.js'
import { AppSpread } from './app.spread.js'
import { type GrantRecord, toGrant } from './grant.record.js'
import { GrantRepository } from './grant.repository.js'
import { checkGrant, hiddenApp, sameGrant } from './grant.rules.js'
import { Grants } from './grants.js'

const get = contract['grant.get']
const set = contract['apps.grant.set']
const revoke = contract['apps.grant.revoke']

/** How often (ms) a held request looks although nothing was heard: what tells of changes may lose one. */
const netEvery = 1000
/** What is left of a request's time (ms) for its answer. */
const margin = 500

/** What an app may do: the owner sets it, the app reads it. */
@Injectable()
export class GrantService {
  constructor(
    @Inject(Writer) private readonly writer: Writer,
    @Inject(AppRepository) private readonly apps: AppRepository,
    @Inject(GrantRepository) private readonly repository: GrantRepository,
    @Inject(Grants) private readonly grants: Grants,
    @Inject(AppSpread) private readonly spread: AppSpread,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, validation_failed, precondition_failed with `version` */
  set(ctx: Context, input: InputOf<typeof set>): Promise<Grant> {
    return this.#change(ctx, input.app, (now) => {
      if (input.if_match !== undefined && input.if_match !== now.version) {
        throw new SvcError('precondition_failed', undefined, { version: now.version })
      }
      return { ...now, ...checkGrant(now.appId, input), status: 'active' }
    })
  }

  /** What it held stands in its row, so that the owner sees what there was. @throws SvcError not_found */
  revoke(ctx: Context, input: InputOf<typeof revoke>): Promise<Grant> {
    return this.#change(ctx, input.app, (now) => ({ ...now, status: 'revoked' }))
  }

  /**
   * At once, or when the version is newer than `since`, or when the time is over.
   *
   * @throws SvcError grant_revoked for an app that was never granted anything; client_closed
   */
  async get(ctx: Context, { wait, since }: InputOf<typeof get>): Promise<Grant> {
    const appId = ctx.actor.appId as string
    const until = Math.min(this.clock.now() + wait * 1000, (ctx.deadline ?? Infinity) - margin)
    for (;;) {
      // heard from before the look, so that no change falls between
      const change = this.#changeOf(ctx, appId)
      try {
        const now = await this.repository.find(appId)
        if (!now) throw new SvcError('grant_revoked')
        const left = until - this.clock.now()
        if (since === undefined || now.version > since || left <= 0) return toGrant(now)
        await change.within(Math.min(left, netEvery))
        if (ctx.signal.aborted) throw abortedBy(ctx.signal)
      } finally {
        change.stop()
      }
    }
  }

  #changeOf({ signal }: Context, appId: string) {
    const heard = Promise.withResolvers<void>()
    const wake = (): void => heard.resolve()
    const unfollow = this.grants.follow((changed) => {
      if (changed === undefined || changed === appId) wake()
    })
    signal.addEventListener('abort', wake, { once: true })
    if (signal.aborted) wake()
    return {
      within: async (ms: number): Promise<void> => {
        const callOff = this.clock.after(ms, wake)
        await heard.promise
        callOff()
      },
      stop: (): void => {
        unfollow()
        signal.removeEventListener('abort', wake)
      },
    }
  }

  async #change(ctx: Context, ref: string, changed: (now: GrantRecord) => GrantRecord): Promise<Grant> {
    const [before, after] = await this.writer.transact(ctx, async ({ tx }) => {
      const app = await this.apps.lock(tx, ref)
      if (!app) throw hiddenApp(ref)
      const wanted = changed(app.grant)
      if (sameGrant(app.grant, wanted)) return [app.grant, app.grant]
      const next = { ...wanted, version: app.grant.version + 1, updatedAt: this.clock.now() }
      this.repository.update(tx, next)
      return [app.grant, next]
    })
    if (after !== before) await this.spread.changed({ appId: after.appId })
    return toGrant(after)
  }
}
