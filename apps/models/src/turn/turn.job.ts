import type { LlmItem } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { CallBuffer } from '../call/call.buffer.js'

/** Ms that a call goes on when nobody reads it: its broker was killed, and its successor will ask for the answer. */
export const orphanedFor = 120_000

/** A call that this process runs or waits for, with those who follow it. */
export class TurnJob {
  readonly buffer = new CallBuffer<LlmItem>()
  readonly #abort = new AbortController()
  #callOff: () => void

  constructor(
    private readonly clock: Clock,
    private readonly patience = orphanedFor,
  ) {
    this.#callOff = this.#expect()
  }

  /** Fires when the call is to end at the provider. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether anybody follows it now. */
  get followed(): boolean {
    return this.buffer.readers > 0
  }

  follow(signal: AbortSignal): AsyncIterable<LlmItem> {
    this.#callOff()
    return this.buffer.read(signal, () => {
      this.#callOff()
      if (!this.followed && !this.buffer.ended) this.#callOff = this.#expect()
    })
  }

  abort(reason: SvcError): void {
    this.#abort.abort(reason)
  }

  done(): void {
    this.#callOff()
  }

  #expect(): () => void {
    return this.clock.after(this.patience, () =>
      this.abort(new SvcError('client_closed', 'Nobody came back for this model call.')),
    )
  }
}
