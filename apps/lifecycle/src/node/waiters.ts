/**
 * Callers that wait for a node to settle. In memory only: after a restart the client asks again, and the first look is
 * always at the row.
 */
export class Waiters {
  private readonly waiting = new Map<string, Set<() => void>>()

  wake(nodeId: string): void {
    const woken = this.waiting.get(nodeId)
    this.waiting.delete(nodeId)
    for (const resolve of woken ?? []) resolve()
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
