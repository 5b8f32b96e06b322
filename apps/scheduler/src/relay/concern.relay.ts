import { contract } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { CallRelay } from '#common/kernel/call-relay.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Outbox } from '#common/kernel/database/outbox.js'
import type { Logger } from '#common/kernel/log.js'

const operation = contract['lifecycle.concern.set']

/** Tells lifecycle which schedules need a person. */
export class ConcernRelay extends CallRelay<typeof operation> {
  constructor(database: Database, outbox: Outbox, bus: Bus, clock: Clock, log: Logger) {
    const refused = 'what a schedule needs was refused for good'
    super({ operation, service: 'scheduler', final: ['validation_failed'], refused, database, outbox, bus, clock, log })
  }
}
