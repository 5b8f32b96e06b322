import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import type { Wake } from '../delivery/wake.js'
import type { Running } from '../objects.lifetime.js'
import type { Carrier } from './carrier.js'
import type { ReceiverKinds } from './receiver.kinds.js'
import type { SendLedger } from './send.ledger.js'
import type { SendRepository } from './send.repository.js'
import { Sender } from './sender.js'

/** A sender for each kind, so that receivers of one kind that hang hold up none of another. */
export class Senders implements Running {
  readonly #senders: readonly Sender[]
  readonly #carriers: readonly Carrier[]

  constructor(
    reader: Database,
    sending: SendRepository,
    ledger: SendLedger,
    wake: Wake,
    kinds: ReceiverKinds,
    clock: Clock,
    log: Logger,
    ...carriers: Carrier[]
  ) {
    const parts = { reader, sending, ledger, wake, kinds, clock, log }
    this.#carriers = carriers
    this.#senders = carriers.map((carrier) => new Sender(carrier, parts))
  }

  start(): void {
    for (const sender of this.#senders) sender.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#senders.map((sender) => sender.stop()))
    for (const carrier of this.#carriers) carrier.close?.()
  }
}
