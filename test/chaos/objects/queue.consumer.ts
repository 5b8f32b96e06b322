import { waitFor } from '#common/testing/wait-for.js'
import { pause } from '#sdk/clock.js'
import { type Client, type Delivery, isWorthRetrying } from '#sdk/index.js'
import type { Random } from '../random.js'

/** Ids of one acknowledgement. */
const atOnce = 25

/** A delivery as it came for the first time. */
export interface Arrival {
  readonly id: string
  readonly tag: string
  readonly event: string
  readonly event_id: string
  readonly source: string
}

/**
 * Receives the deliveries of a queue over many connections, and acknowledges them in no order, some of them late. Its log
 * outlives each connection, as that of a process does.
 */
export class QueueConsumer {
  /** In the order in which they came first. */
  readonly arrivals: Arrival[] = []
  readonly violations: string[] = []
  connections = 0
  again = 0
  readonly #known = new Set<string>()
  /** By id: the newest connection that was open when the daemon had said that it is acknowledged. */
  readonly #acked = new Map<string, number>()
  /** Received, and not acknowledged by this connection yet. */
  #held: string[] = []
  /** While it is set, some are kept back. */
  #sparing = true
  readonly #stopped = new AbortController()
  #connection = new AbortController()
  readonly #done: Promise<unknown>

  constructor(
    private readonly client: Client,
    private readonly queue: string,
    private readonly random: Random,
  ) {
    this.#done = Promise.all([this.#receive(), this.#acknowledge()])
  }

  get acked(): number {
    return this.#acked.size
  }

  has(event_id: string): boolean {
    return this.#known.has(event_id)
  }

  /** Drops the connection with all that it had received and not acknowledged, as the end of a process does. */
  kill(): void {
    this.#connection.abort()
    this.#held = []
  }

  /** Connects anew and keeps nothing back, until all that came is acknowledged. */
  async settle(timeout: number): Promise<void> {
    this.#sparing = false
    this.kill()
    await waitFor(() => this.acked >= this.arrivals.length && this.#held.length === 0, {
      timeout,
      what: `the acknowledgement of all ${this.arrivals.length} deliveries of ${this.queue}`,
    })
    this.#sparing = true
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#connection.abort()
    await this.#done
  }

  async #receive(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#connection = new AbortController()
      this.connections += 1
      const own = this.connections
      const { signal } = this.#connection
      try {
        let last = 0
        // each connection by itself, since each begins with all that is not acknowledged
        const options = { signal, maxRetries: 0 }
        for await (const delivery of this.client.customObjects.receive(this.queue, options)) {
          if (signal.aborted) break
          if (delivery.seq <= last) this.#violate(`${delivery.seq} came after ${last} on one connection`)
          last = delivery.seq
          this.#take(delivery, own)
        }
      } catch (error) {
        if (!signal.aborted && !isWorthRetrying(error)) this.#violate(`receiving was refused: ${error}`)
      }
      await pause(this.random.between(0, 200), this.#stopped.signal).catch(() => undefined) // by the signal, which ends the loop
    }
  }

  #take({ id, event, event_id, source_name, payload }: Delivery, connection: number): void {
    const acked = this.#acked.get(id)
    if (acked !== undefined && acked < connection) this.#violate(`${id} came again, which was acknowledged`)
    this.#held.push(id)
    if (this.#known.has(event_id)) {
      this.again += 1
      return
    }
    this.#known.add(event_id)
    const { tag } = payload as { tag: string }
    this.arrivals.push({ id, tag, event, event_id, source: source_name ?? '' })
  }

  async #acknowledge(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const held = this.#sparing ? this.random.shuffled(this.#held) : this.#held
      const ids = [...new Set(held)].slice(0, this.#sparing ? Math.floor(held.length * 0.6) : atOnce).slice(0, atOnce)
      if (ids.length) await this.#ack(ids)
      await pause(this.random.between(5, 60), this.#stopped.signal).catch(() => undefined) // as above
    }
  }

  async #ack(ids: string[]): Promise<void> {
    try {
      const { unknown } = await this.client.customObjects.ack(this.queue, { ids })
      if (unknown.length) this.#violate(`${unknown.join(', ')} came, and is said to be unknown`)
      for (const id of ids) if (!this.#acked.has(id)) this.#acked.set(id, this.connections)
      const gone = new Set(ids)
      this.#held = this.#held.filter((id) => !gone.has(id))
    } catch (error) {
      this.#violate(`an acknowledgement was refused: ${error}`)
    }
  }

  #violate(sentence: string): void {
    this.violations.push(`${this.queue}: ${sentence}`)
  }
}
