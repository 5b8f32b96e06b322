import type { Tx } from './tx.js'

/** What a service has consumed from others' outboxes, by source and event. */
export class Inbox {
  readonly #take: string
  readonly #prune: string

  constructor(schema: 'canvas' | 'models' | 'scheduler' | 'objects') {
    this.#take = `INSERT INTO ${schema}.inbox (source, source_event) VALUES ($1, $2) ON CONFLICT DO NOTHING`
    this.#prune = `DELETE FROM ${schema}.inbox WHERE received_at < $1`
  }

  /** Runs `effect` for the first delivery of an event, in the same transaction; answers whether this was the first. */
  async once(tx: Tx, source: string, event: string, effect: () => Promise<void>): Promise<boolean> {
    if ((await tx.count(this.#take, [source, event])) === 0) return false
    await effect()
    return true
  }

  /** Forgets deliveries received before a time; it must lie before anything that may still be delivered again. */
  prune(tx: Tx, before: Date): Promise<number> {
    return tx.count(this.#prune, [before])
  }
}
