import type { Clock } from '../clock.js'
import { hasCode } from '../errors.js'
import type { Failure } from './bus.errors.js'
import { sign } from './codec.js'
import type { BusConnection } from './connection.js'
import type { Pulse } from './heartbeat.js'
import type { Inbox, Waiter } from './inbox.js'

export interface WatchSettings {
  readonly clock: Clock
  readonly pulse: Pulse
  readonly inbox: Inbox
  readonly connection: BusConnection
  /** The caller's address. */
  readonly reply: string
  /** Nobody waits for the answer any more. */
  gone(): void
}

/**
 * Says to the caller at every beat that its call is at work, and hears that way when the caller is gone without a word:
 * killed, or cut off from the bus for a while.
 */
export class CallWatch implements Waiter {
  readonly subject: string
  #address: string | undefined
  #callOff: () => void

  constructor(private readonly settings: WatchSettings) {
    this.subject = settings.reply
    this.#callOff = settings.clock.after(settings.pulse.beat, this.#beat)
  }

  stop(): void {
    this.#callOff()
    if (this.#address !== undefined) this.settings.inbox.close(this.#address)
  }

  onMessage(): void {
    this.settings.gone()
  }

  /** With the connection of this side lost, nothing is known of the caller. */
  onFailure(failure: Failure): void {
    if (failure === 'nobody') this.settings.gone()
  }

  readonly #beat = (): void => {
    const { clock, pulse, inbox, connection, reply } = this.settings
    this.#callOff = clock.after(pulse.beat, this.#beat)
    this.#address ??= inbox.open(this)
    try {
      connection.send(reply, sign, this.#address)
    } catch (error) {
      // The next beat tries again.
      if (!hasCode(error, 'service_unavailable')) throw error
    }
  }
}
