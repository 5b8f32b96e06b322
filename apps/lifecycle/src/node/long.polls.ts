import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { Waiters } from './waiters.js'

export interface Patience {
  /** How long the answer may be held; 0 looks once. */
  readonly seconds: number
  /** Fires when the caller has left. */
  readonly signal: AbortSignal
}

/** Requests that are held until what they ask for has come about. */
@Injectable()
export class LongPolls {
  constructor(
    private readonly waiters: Waiters,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Looks at once, and again whenever the resource is woken, until `look` answers something. When the time is up, the
   * caller has left, or this process stops being the writer, it looks for the `last` time and must answer.
   *
   * @throws whatever `look` throws
   */
  async until<T>(
    id: string,
    { seconds, signal }: Patience,
    look: (last: boolean) => Promise<T | undefined>,
  ): Promise<T> {
    const left = new AbortController()
    const callOff = this.clock.after(seconds * 1000, () => left.abort())
    if (seconds === 0) left.abort()
    const patience = AbortSignal.any([signal, this.waiters.over, left.signal])
    try {
      for (;;) {
        // registered before the look, so that what happens in between is not missed
        const woken = this.waiters.next(id, patience)
        const found = await look(patience.aborted)
        if (found !== undefined) return found
        await woken
      }
    } finally {
      callOff()
      left.abort()
    }
  }
}
