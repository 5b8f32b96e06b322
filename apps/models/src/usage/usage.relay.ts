import { contract, type LlmAnswer } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { CallRelay } from '#common/kernel/call-relay.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Outbox } from '#common/kernel/database/outbox.js'
import type { OutboxMessage } from '#common/kernel/database/tx.js'
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

/** Hands the usage of finished calls to lifecycle; one of a node that is gone is refused for good. */
export class UsageRelay extends CallRelay<typeof record> {
  constructor(database: Database, outbox: Outbox, bus: Bus, clock: Clock, log: Logger) {
    const [final, refused] = [['not_found', 'validation_failed'] as const, 'the usage of a call was refused for good']
    super({ operation: record, service: 'models', final, refused, database, outbox, bus, clock, log })
  }
}
