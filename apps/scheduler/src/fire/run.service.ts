import { type CronFire, cronLimits } from '#common/contract/cron.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { requireSeen } from '../cron/cron.access.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { CronRepository } from '../cron/cron.repository.js'
import type { Refill } from '../timer/refill.js'
import { fireMachine } from './fire.machine.js'
import { type FireRecord, newFire, toFire } from './fire.record.js'
import type { FireRepository, OpenFires } from './fire.repository.js'
import { freeSlot } from './free.slot.js'
import { heldOf, type Starter } from './starter.js'
import type { Sweep } from './sweep.js'

const run = contract['crons.run']
const poke = contract['crons.poke']

/** Fires schedules by hand. */
export class RunService {
  constructor(
    private readonly writer: Writer,
    private readonly fires: FireRepository,
    private readonly crons: CronRepository,
    private readonly starter: Starter,
    private readonly sweep: Sweep,
    private readonly refill: Refill,
    private readonly clock: Clock,
  ) {}

  /**
   * One more firing, of now; the schedule's own slots stay as they are.
   *
   * @throws SvcError not_found, already_running, quota_exceeded (as many wait for their turn as may)
   */
  async run(ctx: Context, input: InputOf<typeof run>): Promise<CronFire> {
    const written = await this.writer.once(ctx, { operation: run.name, input }, async ({ tx }) => {
      const cron = requireSeen(ctx, input.id, await this.crons.lock(tx, input.id), input)
      const now = new Date(this.clock.now())
      const [[open], [first], taken] = await Promise.all([
        this.fires.openOf(tx, [cron.id]),
        this.fires.oldestOpen(tx, cron.id),
        this.fires.slotsFrom(tx, cron.id, now),
      ])
      const begins = this.#requireTurn(cron, open, first)
      const slot = freeSlot(cron, now, taken)
      const fire = newFire(cron, { slot, due_at: slot, trigger: 'manual' }, now)
      const line = begins
        ? { ...fire, ...this.starter.holding(now, this.starter.room(cron)) }
        : fireMachine.apply(fire, 'wait')
      this.fires.insert(tx, [line])
      tx.afterCommit(() => this.starter.take(heldOf(cron, [line])))
      return toFire(line)
    })
    return written.value
  }

  /** Sets all timers anew, and fires what is due. */
  async poke(): Promise<OutputOf<typeof poke>> {
    const due = await this.sweep.due()
    return { armed: await this.refill.run(), due }
  }

  /** Whether it begins at once; else it waits for its turn. */
  #requireTurn({ overlap }: CronRecord, open: OpenFires | undefined, first: FireRecord | undefined): boolean {
    if (!open || overlap === 'allow') return true
    if (overlap === 'skip') {
      throw new SvcError('already_running', undefined, {
        slot: first?.slot.toISOString() ?? null,
        node_id: first?.node_id ?? null,
      })
    }
    if (open.queued < cronLimits.queued) return false
    throw new SvcError('quota_exceeded', `At most ${cronLimits.queued} firings of a schedule wait for their turn.`, {
      limit: 'queued_firings',
      max: cronLimits.queued,
    })
  }
}
