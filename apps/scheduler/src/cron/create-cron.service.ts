import type { Cron, PossibleAction } from '#common/contract/cron.schema.js'
import { type Authority, contract, type InputOf } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import type { Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context, systemContext } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer, Written } from '#common/kernel/database/writer.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import type { Publisher } from '../fire/publisher.js'
import { requireJitter, requireSchedule } from '../schedule/schedule.check.js'
import { dueOf } from '../schedule/slot.plan.js'
import type { Timers } from '../timer/timers.js'
import { nameOf, requirePossible } from './cron.action.js'
import { authorityOf, missingNode, requireReach, type Standing } from './cron.authority.js'
import { boundsOf } from './cron.bounds.js'
import { cronMachine } from './cron.machine.js'
import { type CronRecord, toCron } from './cron.record.js'
import type { CronRemoval } from './cron.removal.js'
import type { CronRepository } from './cron.repository.js'
import { type HolderRepository, holderOfApp, holderOfNode } from './holder.repository.js'

const create = contract['crons.create']
const check = contract['lifecycle.work.check']
type Create = InputOf<typeof create>

/** What a schedule is, as far as no other one matters. */
type Prepared = { readonly row: CronRecord } | { readonly refusal: SvcError }

/** Arms schedules. */
export class CreateCronService {
  constructor(
    private readonly writer: Writer,
    private readonly bus: Bus,
    private readonly publisher: Publisher,
    private readonly crons: CronRepository,
    private readonly holders: HolderRepository,
    private readonly removal: CronRemoval,
    private readonly timers: Timers,
    private readonly clock: Clock,
  ) {}

  /**
   * Checks everything, its action at lifecycle, then writes the row and clears those that are long over. Its timer is set after commit: should that be lost, the
   * sweep finds the row.
   *
   * @throws SvcError validation_failed, schedule_impossible, schedule_too_frequent, schedule_past, timezone_unknown,
   * action_unavailable, quota_exceeded, illegal_transition (a node that has ended), and what lifecycle refuses; of an
   * event event_not_declared, payload_schema_mismatch
   */
  async create(ctx: Context, input: Create): Promise<Written<Cron>> {
    const prepared = await this.prepare(ctx, input)
    return this.writer.once(ctx, { operation: create.name, input }, async ({ tx }) => {
      // thrown here, since a repeated request is given its first answer whatever has changed since
      if ('refusal' in prepared) throw prepared.refusal
      const { row } = prepared
      await this.lockHolders(tx, row)
      await this.crons.requireRoom(tx, row)
      await this.removal.clear(tx, row)
      this.crons.insert(tx, row)
      tx.afterCommit(async () => void (await this.timers.arm([row])))
      return toCron(row, null)
    })
  }

  private async prepare(ctx: Context, input: Create): Promise<Prepared> {
    try {
      const action = requirePossible(input.action)
      const now = this.clock.now()
      const slots = requireSchedule(input.schedule, boundsOf(input, now), now)
      requireJitter(input.jitter_s, slots)
      const by = authorityOf(ctx.actor, input.owner_node_id)
      const standing = await this.standing(ctx, by, action)
      if (action.type === 'publish') await this.publisher.require(askingFor(ctx), by, action)
      return { row: this.build(ctx, { ...input, action }, { by, standing, now, slot: slots.next(now) as number }) }
    } catch (error) {
      if (isSvcError(error)) return { refusal: error }
      throw error
    }
  }

  /** Whose it is, as lifecycle says that could do it now. Of a node that is out of reach nothing else is said. */
  private async standing(ctx: Context, by: Authority, action: PossibleAction): Promise<Standing> {
    if (ctx.actor.kind === 'owner' || by.principal === ctx.actor.principal) return this.ask(ctx, by, action)
    const nodeId = by.node_id as string
    try {
      const standing = await this.ask(ctx, by, action)
      requireReach(ctx.actor, nodeId, standing)
      return standing
    } catch (refusal) {
      if (!isSvcError(refusal) || refusal.facts.retryable) throw refusal
      requireReach(ctx.actor, nodeId, await this.reachOf(ctx, by, nodeId))
      throw refusal
    }
  }

  /** Where the node stands, of one that could send itself a message; one that could not may as well be missing. */
  private async reachOf(ctx: Context, by: Authority, nodeId: string): Promise<Standing> {
    const action: PossibleAction = { type: 'message', node_id: nodeId, body: 'for whom', tier: 'normal' }
    try {
      return await this.ask(ctx, by, action)
    } catch (error) {
      if (!isSvcError(error) || error.facts.retryable) throw error
      return missingNode(nodeId)
    }
  }

  private ask(ctx: Context, by: Authority, action: PossibleAction): Promise<Standing> {
    return this.bus.call(check, askingFor(ctx), { by, action })
  }

  private build(
    ctx: Context,
    input: Create & { action: PossibleAction },
    { by, standing, now, slot }: { by: Authority; standing: Standing; now: number; slot: number },
  ): CronRecord {
    const id = newId('cron')
    const at = new Date(now)
    const { action, schedule, missed, catchup_window_s, overlap, jitter_s, max_failures, delete_after_run } = input
    return {
      id,
      name: input.name ?? nameOf(action),
      owner_node_id: by.node_id,
      owner_path: standing.owner_path,
      app_id: standing.app_id,
      profile: standing.profile,
      authority: by,
      created_by: actorRefOf(ctx.actor),
      schedule,
      action,
      target_node_id: action.type === 'message' ? action.node_id : null,
      missed,
      catchup_window_s,
      overlap,
      jitter_s,
      start_at: input.start_at === undefined ? null : new Date(input.start_at),
      end_at: input.end_at === undefined ? null : new Date(input.end_at),
      max_failures,
      delete_after_run,
      status: cronMachine.initial,
      pause_reason: null,
      consecutive_failures: 0,
      anchor_at: at,
      next_slot: new Date(slot),
      next_due: new Date(dueOf({ id, jitter_s }, slot)),
      version: 1,
      created_at: at,
      updated_at: at,
    }
  }

  /**
   * Its node and all above it, its application and the node that it is aimed at: none of them is given another, ends, or
   * gives its place to another meanwhile.
   */
  private async lockHolders(tx: Tx, { owner_path, app_id, target_node_id, created_at }: CronRecord): Promise<void> {
    const nodes = [...owner_path, ...(target_node_id === null ? [] : [target_node_id])]
    const holders = new Set([...nodes.map(holderOfNode), ...(app_id === null ? [] : [holderOfApp(app_id)])])
    if (holders.size === 0) return
    const [ended] = await this.holders.lock(tx, [...holders], created_at)
    if (ended === undefined) return
    throw new SvcError('illegal_transition', 'The node has ended meanwhile.', { state: 'canceled', event: 'schedule' })
  }
}

/** What a request has this service ask of others by itself. */
const askingFor = ({ requestId, deadline, traceparent, signal }: Context): Context => ({
  ...systemContext('scheduler', signal),
  requestId,
  ...(traceparent !== undefined && { traceparent }),
  ...(deadline !== undefined && { deadline }),
})
