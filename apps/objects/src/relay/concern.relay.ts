import { type CallOf, contract } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { DueMessage, Outbox } from '#common/kernel/database/outbox.js'
import { OutboxRelay } from '#common/kernel/database/outbox-relay.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'

const set = contract['lifecycle.concern.set']

/** Tells lifecycle which receivers need a person, until it has said that it knows. */
export class ConcernRelay {
  readonly #relay: OutboxRelay

  constructor(
    database: Database,
    outbox: Outbox,
    private readonly bus: Bus,
    clock: Clock,
    private readonly log: Logger,
  ) {
    this.#relay = new OutboxRelay({
      reader: database,
      outbox,
      deliver: (message) => this.#deliver(message),
      log,
      clock,
    })
  }

  start(): void {
    this.#relay.start()
  }

  stop(): Promise<void> {
    return this.#relay.stop()
  }

  async #deliver(message: DueMessage): Promise<void> {
    if (message.type !== set.name) throw new Error(`nobody knows how to deliver ${message.type}`)
    try {
      await this.bus.call(set, systemContext('objects'), message.payload as CallOf<typeof set>)
    } catch (error) {
      // can never be read: sending it again would not help
      if (!hasCode(error, 'validation_failed')) throw error
      this.log.error({ err: error, key: message.key }, 'what a receiver needs was refused for good')
    }
  }
}
