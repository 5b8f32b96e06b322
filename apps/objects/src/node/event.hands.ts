import { contract, type OutputOf } from '#common/contract/index.js'
import type { HandedEvent } from '#common/contract/object.internal.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { systemContext } from '#common/kernel/context.js'
import { hasCode, isSvcError } from '#common/kernel/errors.js'

const hand = contract['lifecycle.events.hand']
export type HandOutcome = OutputOf<typeof hand>['outcomes'][number]['outcome'] | 'unfit'

/** Deliveries, and bytes of their payloads, of one question. */
const mostDeliveries = 200
const mostBytes = 1024 * 1024
/** Questions under way at once: what comes meanwhile is asked together, next. */
const atOnce = 2
const patience = 20_000

/** Deliveries of one node, which go in one question or, where they are too many, one behind the other. */
interface Handful {
  readonly deliveries: readonly HandedEvent[]
  readonly bytes: number
  readonly resolve: (outcomes: readonly HandOutcome[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Hands events to lifecycle, those of many nodes together: however many watch an object, few questions are asked. One that
 * lifecycle can never take, since it is not as agreed, is `unfit` and holds up no other.
 */
export class EventHands {
  readonly #waiting: Handful[] = []
  #asking = 0

  constructor(private readonly bus: Bus) {}

  /**
   * @param deliveries of one node, in their order
   * @throws SvcError service_unavailable and the like, when lifecycle can't be asked
   */
  hand(deliveries: readonly HandedEvent[]): Promise<readonly HandOutcome[]> {
    return new Promise((resolve, reject) => {
      const bytes = deliveries.reduce((sum, { payload }) => sum + Buffer.byteLength(JSON.stringify(payload)), 0)
      this.#waiting.push({ deliveries, bytes, resolve, reject })
      // those who ask in the same moment go together
      queueMicrotask(() => this.#pump())
    })
  }

  #pump(): void {
    while (this.#asking < atOnce && this.#waiting.length > 0) {
      this.#asking += 1
      void this.#settle(this.#next()).finally(() => {
        this.#asking -= 1
        this.#pump()
      })
    }
  }

  /** As many as one question carries, and one in any case. */
  #next(): Handful[] {
    let [count, bytes] = [0, 0]
    const over = this.#waiting.findIndex((handful) => {
      count += handful.deliveries.length
      bytes += handful.bytes
      return count > mostDeliveries || bytes > mostBytes
    })
    return this.#waiting.splice(0, over < 0 ? this.#waiting.length : Math.max(1, over))
  }

  async #settle(handfuls: readonly Handful[]): Promise<void> {
    try {
      const outcomes = await this.#ask(handfuls.flatMap(({ deliveries }) => deliveries))
      let from = 0
      for (const { deliveries, resolve } of handfuls) {
        resolve(outcomes.slice(from, from + deliveries.length))
        from += deliveries.length
      }
    } catch (error) {
      if (handfuls.length > 1 && hasCode(error, 'internal')) return this.#settleEach(handfuls)
      for (const { reject } of handfuls) reject(error)
    }
  }

  /** Something in one of them breaks lifecycle: those of all other nodes need not wait for it. */
  async #settleEach(handfuls: readonly Handful[]): Promise<void> {
    for (const handful of handfuls) await this.#settle([handful])
  }

  async #ask(deliveries: readonly HandedEvent[]): Promise<HandOutcome[]> {
    try {
      const { outcomes } = await this.bus.call(
        hand,
        systemContext('objects'),
        { deliveries: [...deliveries] },
        { timeout: patience },
      )
      const outcomeOf = new Map(outcomes.map(({ id, outcome }) => [id, outcome]))
      return deliveries.map(({ id }) => outcomeOf.get(id) ?? 'full')
    } catch (error) {
      if (!isSvcError(error) || error.facts.retryable) throw error
      if (deliveries.length === 1) return ['unfit']
      const half = Math.ceil(deliveries.length / 2)
      return [...(await this.#ask(deliveries.slice(0, half))), ...(await this.#ask(deliveries.slice(half)))]
    }
  }
}
