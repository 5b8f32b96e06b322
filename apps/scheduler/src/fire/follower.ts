import type { FireCause } from '#common/contract/cron.schema.js'
import { contract, type OutputOf } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import type { FireEnds } from './fire.end.service.js'
import type { FireEnd } from './fire.outcome.js'
import { workKeyOf } from './fire.record.js'
import type { FireKey, FireRepository } from './fire.repository.js'

const states = contract['lifecycle.work.states']
type Work = OutputOf<typeof states>['works'][number]

/** Ms between two rounds. */
const followEvery = 1000
/**
 * Works that one question names, few enough that reading its answer makes no slot late; and questions of one round. What is
 * beyond that comes in the next one.
 */
const page = 100
const pages = 10
const patience = 8000
const start = { fired_at: new Date(0), cron_id: '', slot: new Date(0) }

const endings: Readonly<
  Record<Exclude<Work['state'], 'running'>, { event: FireEnd['event']; cause: FireCause | null }>
> = {
  succeeded: { event: 'succeed', cause: null },
  failed: { event: 'fail', cause: 'work_failed' },
  canceled: { event: 'cancel', cause: 'work_canceled' },
  // it said that it had begun, and knows nothing of it any more
  absent: { event: 'lose', cause: 'outcome_unknown' },
}

/** Asks lifecycle what becomes of the works that it has begun, until each has ended. */
export class Follower {
  #callOff: () => void = () => undefined
  #round: Promise<unknown> = Promise.resolve()
  #after: { fired_at: Date } & FireKey = start
  #stopped = false
  #failing = false

  constructor(
    private readonly database: Database,
    private readonly fires: FireRepository,
    private readonly ends: FireEnds,
    private readonly bus: Bus,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(): void {
    if (this.#stopped) return
    this.#round = this.#follow().finally(() => {
      if (!this.#stopped) this.#callOff = this.clock.after(followEvery, () => this.start())
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#callOff()
    await this.#round
  }

  async #follow(): Promise<void> {
    try {
      for (let asked = 0; asked < pages && !this.#stopped && (await this.#page()); asked += 1);
      this.#failing = false
    } catch (err) {
      if (!this.#failing && !this.#stopped)
        this.log.warn({ err }, 'what became of works could not be asked; trying again')
      this.#failing = true
    }
  }

  /** Answers whether there is more behind it. */
  async #page(): Promise<boolean> {
    const running = await this.fires.running(this.database, this.#after, page)
    const last = running.at(-1)
    this.#after = last && running.length === page ? last : start
    if (!last) return false
    const fireOf = new Map(running.map((fire) => [workKeyOf(fire), fire]))
    const keys = [...fireOf.keys()]
    const { works } = await this.bus.call(states, systemContext('scheduler'), { keys }, { timeout: patience })
    const now = new Date(this.clock.now())
    this.ends.end(
      ...works.flatMap((work) => {
        const fire = fireOf.get(work.key)
        return fire && work.state !== 'running' ? [endOf(fire, work, now)] : []
      }),
    )
    return running.length === page
  }
}

const endOf = ({ cron_id, slot }: FireKey, work: Work, now: Date): FireEnd => {
  const { event, cause } = endings[work.state as keyof typeof endings]
  return {
    cron_id,
    slot,
    event,
    cause,
    ended_at: work.ended_at === null ? now : new Date(work.ended_at),
    found: { error: work.error, ...(work.node_id !== null && { node_id: work.node_id }) },
  }
}
