import type { Bus } from '#common/kernel/bus/bus.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import type { DeliveryRepository } from '../delivery/delivery.repository.js'
import type { Wake } from '../delivery/wake.js'
import type { Running } from '../objects.lifetime.js'
import { OpenStream } from './open.stream.js'

/** How often (ms) the rows are looked at although nothing was heard: what another replica told may have been lost. */
const netEvery = 2000

/**
 * All open streams of this process. Each is woken by what is told; that nothing is missed when a message is lost sees one
 * statement for all of them. A stream that has nothing to do costs nothing else.
 */
export class OpenStreams implements Running {
  readonly #open = new Set<OpenStream>()
  #over = false
  #callOff: () => void = () => undefined
  #looking: Promise<void> | undefined

  constructor(
    private readonly database: Database,
    private readonly deliveries: DeliveryRepository,
    private readonly wake: Wake,
    private readonly bus: Bus,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  get size(): number {
    return this.#open.size
  }

  start(): void {
    this.bus.onBack(() => this.#look())
    this.#again()
  }

  async stop(): Promise<void> {
    this.#over = true
    this.#callOff()
    await this.#looking
  }

  /** A stream that hears of its queue from now on, until it is left. */
  join(receiverId: string): { stream: OpenStream; leave: () => void } {
    const stream = new OpenStream(receiverId)
    this.#open.add(stream)
    const deafen = this.wake.listen(receiverId, stream.bell.ring)
    return {
      stream,
      leave: () => {
        deafen()
        this.#open.delete(stream)
      },
    }
  }

  #again(): void {
    this.#callOff = this.clock.after(netEvery, () => {
      this.#look()
      this.#again()
    })
  }

  #look(): void {
    if (this.#open.size === 0 || this.#over) return
    this.#looking ??= this.#ringAll()
      .catch((err: unknown) => this.log.debug({ err }, 'the open streams could not be looked at; trying again'))
      .finally(() => {
        this.#looking = undefined
      })
  }

  async #ringAll(): Promise<void> {
    const streams = [...this.#open].filter((stream) => stream.seen !== undefined)
    if (streams.length === 0) return
    const behind = await this.deliveries.behind(
      this.database,
      streams.map(({ receiverId, seen = 0 }) => ({ receiverId, seen })),
    )
    for (const { at, is_queue } of behind) {
      const stream = streams[at] as OpenStream
      if (is_queue) stream.bell.ring()
      else stream.doubt()
    }
  }
}
