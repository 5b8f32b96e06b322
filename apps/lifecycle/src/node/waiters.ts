/**
 * Callers that wait for a node to settle. In memory only: after a restart the client asks again, and the first look is
 * always at the row.
 */
export class Waiters {
  private readonly waiting = new Map<string, Set<() => void>>()
  private closed = new AbortController()

  /** Fires when this process stops being the writer: nobody is woken here any more, so waiting has no point. */
  get over(): AbortSignal {
    return this.closed.signal
  }

  wake(nodeId: string): void {
    const woken = this.waiting.get(nodeId)
    this.waiting.delete(nodeId)
    for (const resolve of woken ?? []) resolve()
  }

  /** Sends everybody home. */
  close(): void {
    this.closed.abort()
  }

  /** Waiting is worth while again. */
  open(): void {
    if (this.closed.signal.aborted) this.closed = new AbortController()
  }

  /** Resolves when the node is woken or the signal fires, whichever comes first. Register before looking at the row. */
  next(nodeId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const known = this.waiting.get(nodeId) ?? new Set()
      const finish = (): void => {
        known.delete(finish)
        if (known.size === 0 && this.waiting.get(nodeId) === known) this.waiting.delete(nodeId)
        signal.removeEventListener('abort', finish)
        resolve()
      }
      known.add(finish)
      this.waiting.set(nodeId, known)
      signal.addEventListener('abort', finish, { once: true })
    })
  }
}
