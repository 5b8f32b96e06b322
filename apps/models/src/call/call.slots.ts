import { abortedBy, SvcError } from '#common/kernel/errors.js'

/** Places for calls that run at once; who finds none waits in line. */
export class CallSlots {
  #running = 0
  readonly #line: (() => void)[] = []

  constructor(private readonly waitingAtMost: number) {}

  /**
   * Runs `work` when fewer than `limit` run.
   *
   * @throws SvcError rate_limited when the line is full, client_closed when the signal fires in line.
   */
  async run<T>(limit: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    while (this.#running >= limit) await this.#wait(signal)
    this.#running += 1
    try {
      return await work()
    } finally {
      this.#running -= 1
      this.#line.shift()?.()
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#line.length >= this.waitingAtMost) {
      throw new SvcError('rate_limited', 'Too many model calls are waiting.', { limit: 'concurrent_calls' })
    }
    return new Promise((resolve, reject) => {
      const next = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        const at = this.#line.indexOf(next)
        if (at >= 0) this.#line.splice(at, 1)
        reject(abortedBy(signal))
      }
      if (signal.aborted) return leave()
      signal.addEventListener('abort', leave, { once: true })
      this.#line.push(next)
    })
  }
}
