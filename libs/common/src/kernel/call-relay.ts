import type { Operation, ServiceName } from '../contract/define.js'
import type { ErrorCode } from '../contract/errors.js'
import type { Bus, SentTo } from './bus/bus.js'
import type { Clock } from './clock.js'
import { systemContext } from './context.js'
import type { Outbox } from './database/outbox.js'
import { OutboxRelay } from './database/outbox-relay.js'
import type { Reader } from './database/tx.js'
import { hasCode } from './errors.js'
import type { Logger } from './log.js'

export interface CallRelayOptions<O extends Operation> {
  /** What all messages of the outbox are for; the payload of each is its input. */
  readonly operation: O
  /** Who asks. */
  readonly service: ServiceName
  /** Codes that a repetition would be answered with, too. */
  readonly final: readonly ErrorCode[]
  /** What the log says of a message that got one. */
  readonly refused: string
  readonly database: Reader
  readonly outbox: Outbox
  readonly bus: Bus
  readonly clock: Clock
  readonly log: Logger
}

/** Asks another service for what stands in an outbox, until that has said that it has it, or refused it for good. */
export class CallRelay<O extends Operation> {
  readonly #relay: OutboxRelay

  constructor({ operation, service, final, refused, database, outbox, bus, clock, log }: CallRelayOptions<O>) {
    this.#relay = new OutboxRelay({
      reader: database,
      outbox,
      log,
      clock,
      deliver: async ({ key, type, payload }) => {
        if (type !== operation.name) throw new Error(`nobody knows how to deliver ${type}`)
        try {
          await bus.call(operation, systemContext(service), payload as SentTo<O>)
        } catch (error) {
          if (!hasCode(error, ...final)) throw error
          log.error({ err: error, key }, refused)
        }
      },
    })
  }

  start(): void {
    this.#relay.start()
  }

  /** Resolves when what is under way has been handed over. */
  stop(): Promise<void> {
    return this.#relay.stop()
  }
}
