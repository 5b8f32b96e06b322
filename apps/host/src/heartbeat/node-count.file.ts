import { rename, writeFile } from 'node:fs/promises'
import type { Clock } from '#common/kernel/clock.js'

/** Counts that follow each other within this time (ms) are written once. */
const settleTime = 100

/** Keeps the number of hosted nodes and jobs in a file, for whoever wants to replace this host when it hosts none. */
export class NodeCountFile {
  #count = 0
  #written: number | undefined
  #busy = false

  constructor(
    private readonly path: string,
    private readonly clock: Clock,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  note(count: number): void {
    this.#count = count
    if (this.#busy) return
    this.#busy = true
    this.clock.after(settleTime, () => {
      this.write().catch(this.onFailure)
    })
  }

  /** One write at a time. Not synced to the disk: a count from before a power cut means nothing. */
  async write(): Promise<void> {
    this.#busy = true
    const count = this.#count
    try {
      if (this.#written !== count) {
        const draft = `${this.path}.${process.pid}`
        await writeFile(draft, JSON.stringify({ nodes: count }), { mode: 0o600 })
        await rename(draft, this.path)
        this.#written = count
      }
    } finally {
      this.#busy = false
    }
    if (this.#count !== count) this.note(this.#count)
  }
}
