import { type Clock, systemClock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { abortedBy, isSvcError, SvcError } from '#common/kernel/errors.js'
import type { Running } from '../objects.lifetime.js'
import type { AcceptanceService } from './acceptance.service.js'
import type { Outcome, Publication } from './publication.js'

/** What one transaction takes at most. */
const together = { publications: 64, events: 1000, bytes: 4 * 1024 * 1024 }
/** What may wait for its turn. */
const waitingAtMost = { publications: 2000, bytes: 64 * 1024 * 1024 }
/** When (ms) to come again where too much waits. */
const comeAgain = 1000

interface Waiting {
  readonly ctx: Context
  readonly publication: Publication
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers publications that come while a transaction is under way into the next one: alone one waits for nothing, in a
 * burst many share a commit. Each has its own outcome.
 */
export class Acceptor implements Running {
  readonly #waiting: Waiting[] = []
  #waitingBytes = 0
  #running: Promise<void> | undefined

  constructor(
    private readonly acceptances: Pick<AcceptanceService, 'accept'>,
    /** The machine's unless given, as those who call reckon their deadlines. */
    private readonly clock: Clock = systemClock,
  ) {}

  start(): void {}

  /** Resolves when all that waits is through; the bus brings no more by then. */
  async stop(): Promise<void> {
    await this.#running
  }

  /**
   * Resolves when the publication is durable, or is known to be refused.
   *
   * @throws SvcError rate_limited when too much waits; deadline_exceeded, client_closed before its turn has come
   */
  accept(ctx: Context, publication: Publication): Promise<Outcome> {
    if (this.#waiting.length >= waitingAtMost.publications || this.#waitingBytes >= waitingAtMost.bytes)
      throw new SvcError('rate_limited', 'More is published than can be written.', { retry_after_ms: comeAgain })
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ctx, publication, resolve, reject })
      this.#waitingBytes += publication.bytes
      this.#running ??= this.#work()
    })
  }

  async #work(): Promise<void> {
    // what comes within the same turn of the loop shares the first transaction
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#run(this.#next())
    this.#running = undefined
  }

  #next(): Waiting[] {
    const taken: Waiting[] = []
    let [events, bytes] = [0, 0]
    for (const { publication } of this.#waiting) {
      events += publication.events.length
      bytes += publication.bytes
      const isTooMuch = events > together.events || bytes > together.bytes
      if (taken.length === together.publications || (isTooMuch && taken.length > 0)) break
      taken.push(this.#waiting[taken.length] as Waiting)
    }
    this.#waiting.splice(0, taken.length)
    for (const { publication } of taken) this.#waitingBytes -= publication.bytes
    return taken.filter((each) => this.#isAwaited(each))
  }

  #isAwaited({ ctx, reject }: Waiting): boolean {
    const isLate = ctx.deadline !== undefined && ctx.deadline <= this.clock.now()
    if (ctx.signal.aborted) reject(abortedBy(ctx.signal))
    else if (isLate) reject(new SvcError('deadline_exceeded'))
    return !ctx.signal.aborted && !isLate
  }

  /** What fails for what it holds is tried in halves: one publication that can't be written stops none but itself. */
  async #run(group: readonly Waiting[]): Promise<void> {
    if (group.length === 0) return
    try {
      const outcomes = await this.acceptances.accept(group.map(({ publication }) => publication))
      for (const [at, { resolve }] of group.entries()) resolve(outcomes[at] as Outcome)
    } catch (error) {
      if (group.length === 1 || mayPass(error)) {
        for (const { reject } of group) reject(error)
        return
      }
      const half = Math.ceil(group.length / 2)
      await this.#run(group.slice(0, half))
      await this.#run(group.slice(half))
    }
  }
}

/** Whether it failed for the moment, as all of it would now: a database that is away, or busy. */
const mayPass = (error: unknown): boolean => isSvcError(error) && error.facts.retryable
