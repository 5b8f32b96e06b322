import { Inject, Injectable } from '@nestjs/common'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type DueMessage, Outbox } from '#common/kernel/database/outbox.js'
import { OutboxRelay } from '#common/kernel/database/outbox-relay.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { type NodeMessage, nodeMessages } from './node-end.message.js'

/**
 * Tells those who keep something with nodes which have ended or given their place to others, until each has said that it
 * knows. Runs in the process that leads alone.
 */
@Injectable()
export class NodeEndRelay {
  private readonly relay: OutboxRelay

  constructor(
    private readonly bus: Bus,
    database: Database,
    outbox: Outbox,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {
    const deliver = (message: DueMessage): Promise<void> => this.deliver(message)
    this.relay = new OutboxRelay({ reader: database, outbox, deliver, log, clock })
  }

  start(): void {
    this.relay.start()
  }

  /** Resolves when what is under way has been handed over. */
  stop(): Promise<void> {
    return this.relay.stop()
  }

  private async deliver(message: DueMessage): Promise<void> {
    const { key, type, payload } = message
    const operation = nodeMessages.find(({ name }) => name === type)
    // of a later version that was taken back: nobody here can say it any more
    if (!operation) return this.log.error({ key, type }, 'a message that nobody knows was dropped')
    try {
      await this.bus.call(operation, systemContext('lifecycle'), payload as NodeMessage)
    } catch (error) {
      // it can never be read: sending it again would not help
      if (!hasCode(error, 'validation_failed')) throw error
      this.log.error({ err: error, key }, 'the end of a node was refused for good')
    }
  }
}
