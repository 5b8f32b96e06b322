import { json } from './column-types.js'
import type { OutboxMessage, Tx } from './tx.js'

export interface DueMessage extends OutboxMessage {
  readonly id: number
  /** Deliveries tried so far, this one included. */
  readonly attempts: number
}

/** The outbox table of one schema: a retained log, where a row stays open until its consumer has acknowledged it. */
export class Outbox {
  readonly #write: string
  readonly #listeners = new Set<() => void>()

  constructor(readonly schema: 'canvas' | 'models' | 'scheduler' | 'objects') {
    this.#write = `INSERT INTO ${schema}.outbox (key, target, type, payload)
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::json[]) ON CONFLICT (key) DO NOTHING`
  }

  write(tx: Tx, messages: readonly OutboxMessage[]): void {
    tx.send(this.#write, [
      messages.map((message) => message.key),
      messages.map((message) => message.target),
      messages.map((message) => message.type),
      messages.map((message) => json(message.payload)),
    ])
  }

  /** Calls back when a committed transaction left messages; answers a function that ends it. */
  onWritten(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  wake(): void {
    for (const listener of this.#listeners) listener()
  }
}
