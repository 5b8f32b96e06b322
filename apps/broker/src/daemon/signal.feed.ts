import { after, backoff, pause } from '#machine/clock.js'
import type { BrokerSignal } from '#sdk/generated/types.js'
import type { DaemonClient } from './daemon.client.js'
import { endsBroker } from './endings.js'

/** A run shorter than this (ms) never opens the stream: what the daemon wants is told anew on every connect. */
const openAfter = 150

export type Changed = Extract<BrokerSignal, { type: 'changed' }>

export interface SignalListener {
  onMail(signal: { urgent: boolean; critical: boolean }): void
  /** @param turn the one that is to end */
  onInterrupt(turn: number): void
  onStop(reason: string): void
  /** What the node is now. */
  onChanged(now: Changed): void
}

/** What the daemon wants of this broker, told at once; the connection is made again for ever. */
export class SignalFeed {
  readonly #ended = new AbortController()
  readonly #callOff: () => void
  #opened = false
  #lastInterrupt = 0

  constructor(
    private readonly daemon: DaemonClient,
    private readonly listener: SignalListener,
  ) {
    this.#callOff = after(openAfter, () => this.open())
  }

  /** Connects now, unless it did already. */
  open(): void {
    if (this.#opened || this.#ended.signal.aborted) return
    this.#opened = true
    this.#callOff()
    void this.#follow()
  }

  close(): void {
    this.#callOff()
    this.#ended.abort()
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ended
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        for await (const told of this.daemon.stream<BrokerSignal>('GET', 'broker/signals', undefined, signal)) {
          failures = 0
          this.#hear(told)
        }
      } catch (error) {
        if (signal.aborted) return
        if (endsBroker(error)) return this.listener.onStop(error.code)
      }
      await pause(backoff(failures, 50, 2000), signal)
    }
  }

  /** An interrupt that is told again after a reconnect is the same one. */
  #hear(told: BrokerSignal): void {
    if (this.#ended.signal.aborted) return
    switch (told.type) {
      case 'mail':
        this.listener.onMail(told)
        break
      case 'stop':
        this.listener.onStop(told.reason)
        break
      case 'changed':
        this.listener.onChanged(told)
        break
      case 'interrupt':
        if (told.request <= this.#lastInterrupt) break
        this.#lastInterrupt = told.request
        this.listener.onInterrupt(told.request)
        break
    }
  }
}
