import type { Tx } from '#common/kernel/database/tx.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import { cronMachine } from '../cron/cron.machine.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { CronRepository } from '../cron/cron.repository.js'
import { raised } from '../relay/concerns.js'
import { consequencesOf, isSpent } from './fire.outcome.js'
import type { FireRecord } from './fire.record.js'
import { type FireRepository, type HeldFire, nothingOpen, type OpenFires } from './fire.repository.js'
import { refusalOf } from './refusal.js'
import { type Decision, decisionOf } from './slot.decision.js'
import { heldOf, type Starter } from './starter.js'

/** A schedule that can't be planned, since its zone is unknown on this machine, is looked at again after this (ms). */
const lookAgain = 300_000

/** What is known of schedules besides their rows. */
interface Known {
  readonly openOf: ReadonlyMap<string, OpenFires>
  readonly newestOf: ReadonlyMap<string, FireRecord>
}

/** A decision, or why there could be none. */
type Tried = Decision & { readonly fault?: unknown }

/** A schedule as it stands after its slots were decided about. */
interface Moved {
  readonly cron: CronRecord
  readonly open: OpenFires
  readonly decision: Tried
}

/** Decides about the slots of schedules that this transaction has locked, and writes that down. */
export class SlotDecider {
  constructor(
    private readonly fires: FireRepository,
    private readonly crons: CronRepository,
    private readonly starter: Starter,
    private readonly log: Logger,
  ) {}

  /** Of those of these schedules that are due and that nobody else holds: answers them as they stand then. */
  async decideDue({ tx }: TxContext, ids: readonly string[], now: Date): Promise<CronRecord[]> {
    // in one go: what is read was read when the rows were locked
    const [due, known] = await Promise.all([this.fires.lockDue(tx, ids, now), this.#known(tx, ids)])
    return due.length ? this.#decide(tx, due, known, now) : []
  }

  /** All slots that are due are decided about: schedules as they stand then. After commit what begins is started. */
  async decide({ tx }: TxContext, crons: readonly CronRecord[], now: Date): Promise<CronRecord[]> {
    const ids = crons.map(({ id }) => id)
    return this.#decide(tx, crons, await this.#known(tx, ids), now)
  }

  async #known(tx: Tx, ids: readonly string[]): Promise<Known> {
    const [counts, last] = await Promise.all([this.fires.openOf(tx, ids), this.fires.newestOf(tx, ids)])
    return {
      openOf: new Map(counts.map((open) => [open.cron_id, open])),
      newestOf: new Map(last.map((fire) => [fire.cron_id, fire])),
    }
  }

  async #decide(tx: Tx, crons: readonly CronRecord[], { openOf, newestOf }: Known, now: Date): Promise<CronRecord[]> {
    const held: HeldFire[] = []
    const decided = crons.map((cron) => {
      const open = openOf.get(cron.id) ?? nothingOpen(cron.id)
      const holding = this.starter.holding(now, this.starter.room(cron, held))
      const decision = this.#decisionFor(cron, { open, newest: newestOf.get(cron.id), now, holding })
      held.push(...heldOf(cron, decision.fires))
      return { cron, open, decision }
    })
    const decisions = decided.map(({ decision }) => decision)
    this.fires.insert(
      tx,
      decisions.flatMap(({ fires }) => fires),
    )
    this.fires.grow(
      tx,
      decisions.flatMap(({ growth }) => growth ?? []),
    )
    this.fires.move(
      tx,
      decisions.map(({ move }) => move),
    )
    if (held.length) tx.afterCommit(() => this.starter.take(held))
    const moved = decided.map(({ cron, open, decision }) => ({ cron: { ...cron, ...decision.move }, open, decision }))
    const firedOf = await this.fires.newestFiredOf(
      tx,
      moved.flatMap(({ cron }) => (isSpent(cron) ? [cron] : [])),
    )
    return moved.map((each) => this.#conclude(tx, each, firedOf.get(each.cron.id), now))
  }

  #decisionFor(cron: CronRecord, standing: Parameters<typeof decisionOf>[1]): Tried {
    try {
      return decisionOf(cron, standing)
    } catch (fault) {
      this.log.error({ err: fault, cron: cron.id }, 'the slots of a schedule could not be planned')
      const next_due = new Date(standing.now.getTime() + lookAgain)
      return { move: { id: cron.id, next_slot: cron.next_slot, next_due }, fires: [], growth: null, fault }
    }
  }

  /** Its slots can't be told, so that nothing of it would ever happen: a person is to know. */
  #giveUp(tx: Tx, cron: CronRecord, fault: unknown, now: Date): CronRecord {
    const { status, pause_reason } = cronMachine.apply(cron, 'give_up')
    const consecutive_failures = cron.consecutive_failures + 1
    const paused = this.crons.save(tx, cron, { status, pause_reason, consecutive_failures }, now)
    tx.deliver(raised(paused, refusalOf(fault), now, 'When it is due can not be told'))
    return paused
  }

  /** One without any slot left is over, unless something of it goes on. */
  #conclude(tx: Tx, { cron, open, decision }: Moved, fired: FireRecord | undefined, now: Date): CronRecord {
    const { fires, fault } = decision
    if (fault !== undefined && cron.status === 'active') return this.#giveUp(tx, cron, fault, now)
    if (cron.next_slot !== null || fires.some(isOpen)) return cron
    const { changes } = consequencesOf(cron, [], open, fired)
    return changes ? this.crons.save(tx, cron, changes, now) : cron
  }
}

const isOpen = ({ status }: FireRecord): boolean => status === 'starting' || status === 'queued'
