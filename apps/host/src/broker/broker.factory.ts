import { Inject, Injectable } from '@nestjs/common'
import { type Clock, systemClock } from '#common/kernel/clock.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { BrokerLog } from './broker.log.js'
import type { Released } from './broker.messages.js'
import { BrokerProcess } from './broker-process.js'

/** Starts broker processes, each with a mark of its own. */
@Injectable()
export class BrokerFactory {
  readonly clock: Clock = systemClock
  readonly #log: BrokerLog
  #slot = 0

  constructor(@Inject(HOST_PLACE) private readonly place: HostPlace) {
    this.#log = new BrokerLog(place.brokerLog)
  }

  /** @throws Error when the system gives no more processes. */
  start(onReleased: (message: Released) => void): BrokerProcess {
    this.#slot += 1
    return new BrokerProcess({
      program: this.place.brokerProgram,
      mark: `${this.place.hostId}:${this.place.incarnation}:${this.#slot}`,
      dataMark: this.place.dataMark,
      clock: this.clock,
      log: this.#log,
      onReleased,
    })
  }
}
