import type { PossibleAction } from '#common/contract/cron.schema.js'
import { type Authority, contract } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import type { Clock } from '#common/kernel/clock.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { traceparentFor } from '#common/kernel/trace/span.js'
import { actorOf, standingOf } from './acting.js'
import type { FireEnd } from './fire.outcome.js'
import { workKeyOf } from './fire.record.js'
import type { FireRepository, HeldFire } from './fire.repository.js'
import { refusalOf } from './refusal.js'
import { broken, firedSince, isForgotten, isUntold, mayBeHeard, shown, UnseenTry } from './unseen.js'

export type Publication = Extract<PossibleAction, { type: 'publish' }>

/** What is to be published, and for whom. */
interface Order {
  readonly action: Publication
  readonly authority: Authority
}

const { 'customObjects.publish': publish, 'objects.publication.check': check } = contract
const patience = 5000

/**
 * Publishes the event of a firing, once for its key: a process that takes the firing after another one publishes under the same
 * key, and is told what was accepted under it.
 */
export class Publisher {
  constructor(
    private readonly database: Database,
    private readonly fires: FireRepository,
    private readonly bus: Bus,
    private readonly clock: Clock,
  ) {}

  /**
   * That it could be published now on this authority; does nothing.
   *
   * @throws SvcError not_found, event_not_declared, payload_schema_mismatch, and what lifecycle refuses
   */
  async require(ctx: Context, by: Authority, { ref, event, payload }: Publication): Promise<void> {
    const standing = await standingOf(this.bus, by, ctx)
    await this.bus.call(check, { ...ctx, actor: actorOf(by, standing) }, { ref, event, payload }, { timeout: patience })
  }

  /** @throws what lifecycle or objects said that refused it, or that could not be asked; UnseenTry */
  async publish(fire: HeldFire, order: Order): Promise<FireEnd> {
    const firedAt = new Date(this.clock.now())
    if (isForgotten(fire, this.clock)) return this.#lost(fire, new SvcError('outcome_unknown'), firedAt)
    const known = isUntold(fire) ? shown(fire, firedAt) : fire
    try {
      return await this.#carry(known, order, firedAt)
    } catch (error) {
      // who refuses this try says nothing of the one before
      if (known.status === 'running' && refusalOf(error).final) return this.#lost(known, error, firedAt)
      throw known === fire || error instanceof UnseenTry ? error : new UnseenTry(known, error)
    }
  }

  async #carry(known: HeldFire, { action, authority }: Order, firedAt: Date): Promise<FireEnd> {
    const actor = actorOf(authority, await standingOf(this.bus, authority))
    // should this process die now, no word of an earlier try is to stand for this one
    if (known.error !== null) await this.fires.forgetError(this.database, known)
    const { type: _, ...publication } = action
    const idempotencyKey = `cron:${workKeyOf(known)}`
    // nobody asked: the slot begins the trace that the event names, and each try of it goes on with it
    const ctx = { ...systemContext('scheduler'), actor, idempotencyKey, traceparent: traceparentFor(idempotencyKey) }
    try {
      await this.bus.call(publish, ctx, publication, { timeout: patience })
    } catch (error) {
      // a full queue says so before it takes anything
      if (hasCode(error, 'queue_full') || !mayBeHeard(error)) throw error
      throw new UnseenTry(shown(known, firedAt), error)
    }
    const { cause, fired_at } = firedSince(known, firedAt)
    const { cron_id, slot } = known
    const ended_at = new Date(this.clock.now())
    return { cron_id, slot, event: 'succeed', cause, ended_at, found: { fired_at, error: null } }
  }

  #lost(fire: HeldFire, error: unknown, firedAt: Date): FireEnd {
    const times = { firedAt, endedAt: new Date(this.clock.now()) }
    return broken(fire, { event: 'lose', cause: 'outcome_unknown', error }, times)
  }
}
