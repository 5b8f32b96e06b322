import type { Clock } from '../clock.js'

/** How often a side of a stream says that it is there, and how long the other's silence is borne (ms). */
export interface Pulse {
  readonly beat: number
  readonly silence: number
}

export const defaultPulse: Pulse = { beat: 5000, silence: 15_000 }

/**
 * Beats for one side of a stream and listens for the other's. Silence is noticed at most one beat late.
 *
 * A tick that comes late itself proves that this process was stalled, with the other's beats perhaps unread: it counts
 * the silence afresh instead of judging it.
 */
export class Heartbeat {
  #heardAt: number
  #tickedAt: number
  #callOff: () => void

  constructor(
    private readonly clock: Clock,
    private readonly pulse: Pulse,
    private readonly side: { beat(): void; silent(): void },
  ) {
    this.#heardAt = clock.monotonic()
    this.#tickedAt = this.#heardAt
    this.#callOff = clock.after(pulse.beat, this.#tick)
  }

  heard(): void {
    this.#heardAt = this.clock.monotonic()
  }

  stop(): void {
    this.#callOff()
  }

  readonly #tick = (): void => {
    const now = this.clock.monotonic()
    const stalled = now - this.#tickedAt >= this.pulse.beat * 2
    this.#tickedAt = now
    if (stalled) this.#heardAt = now
    this.#callOff = this.clock.after(this.pulse.beat, this.#tick)
    if (now - this.#heardAt >= this.pulse.silence) this.side.silent()
    else this.side.beat()
  }
}
