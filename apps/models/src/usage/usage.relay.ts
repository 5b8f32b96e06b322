import { type CallOf, contract, type LlmAnswer } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { DueMessage, Outbox } from '#common/kernel/database/outbox.js'
import { OutboxRelay } from '#common/kernel/database/outbox-relay.js'
import type { OutboxMessage } from '#common/kernel/database/tx.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'

const record = contract['lifecycle.usage.record']

/**
 * The message that puts a finished call on its node's account, once, whoever sends it how often.
 *
 * @param contextTokens size of the node's conversation after a step of it; left out for any other call of the node.
 */
export const usageMessage = (
  key: string,
  nodeId: string,
  { model, usage }: LlmAnswer,
  contextTokens?: number,
): OutboxMessage => ({
  key: `${record.name}:${key}`,
  target: record.service,
  type: record.name,
  payload: {
    source_event: `${record.name}:${key}`,
    node_id: nodeId,
    model,
    usage,
    ...(contextTokens !== undefined && { context_tokens: contextTokens }),
  },
})

/** Hands the usage of finished calls to lifecycle, until it has said that it has it. */
export class UsageRelay {
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
    if (message.type !== record.name) throw new Error(`nobody knows how to deliver ${message.type}`)
    try {
      await this.bus.call(record, systemContext('models'), message.payload as CallOf<typeof record>)
    } catch (error) {
      // the node is gone, or the message can never be read: sending it again would not help
      if (!hasCode(error, 'not_found', 'validation_failed')) throw error
      this.log.error({ err: error, key: message.key }, 'the usage of a call was refused for good')
    }
  }
}
