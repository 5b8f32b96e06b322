import { Inject, Injectable } from '@nestjs/common'
import { type CallOf, contract } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type DueMessage, Outbox } from '#common/kernel/database/outbox.js'
import { OutboxRelay } from '#common/kernel/database/outbox-relay.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'

const ended = contract['scheduler.node.ended']
const succeeded = contract['scheduler.node.succeeded']

/**
 * Tells the scheduler which nodes have ended or given their place to others, until it has said that it knows. Runs in the
 * process that leads alone.
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
    const by = systemContext('lifecycle')
    try {
      if (type === ended.name) await this.bus.call(ended, by, payload as CallOf<typeof ended>)
      else if (type === succeeded.name) await this.bus.call(succeeded, by, payload as CallOf<typeof succeeded>)
      // of a later version that was taken back: nobody here can say it any more
      else this.log.error({ key, type }, 'a message that nobody knows was dropped')
    } catch (error) {
      // it can never be read: sending it again would not help
      if (!hasCode(error, 'validation_failed')) throw error
      this.log.error({ err: error, key }, 'the end of a node was refused for good')
    }
  }
}
