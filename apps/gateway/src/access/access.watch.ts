import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { GatewayListeners } from '../listener/gateway.listeners.js'
import { TrustTail } from '../trust/trust.tail.js'
import { AccessService } from './access.service.js'

/** Between two looks (ms): so late a change is followed that was not heard, and an address tried again that was taken. */
const lookEvery = 1000

/** Keeps this gateway at what the owner opened: at a change that is heard, and by a look every second. */
@Injectable()
export class AccessWatch implements OnModuleDestroy {
  #looking: Promise<void> | undefined
  #again = false
  #failing = false
  #callOff: (() => void) | undefined

  constructor(
    @Inject(AccessService) private readonly access: AccessService,
    @Inject(GatewayListeners) private readonly listeners: GatewayListeners,
    @Inject(TrustTail) private readonly tail: TrustTail,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** Resolves after the first look. An address that can't be opened, or rows that can't be read, stop nobody. */
  async start(): Promise<void> {
    this.tail.listen((change) => {
      if (!change || change.access || change.apps) void this.#look()
    })
    await this.#look()
    this.#next()
  }

  onModuleDestroy(): void {
    this.#callOff?.()
  }

  #next(): void {
    this.#callOff = this.clock.after(lookEvery, () => {
      this.listeners.refreshTls()
      void this.#look()
      this.#next()
    })
  }

  /** What changes during a look is seen by one more. */
  #look(): Promise<void> {
    this.#again = this.#looking !== undefined
    this.#looking ??= this.#run().finally(() => {
      this.#looking = undefined
      if (this.#again) void this.#look()
    })
    return this.#looking
  }

  async #run(): Promise<void> {
    if (this.listeners.draining) return
    try {
      await this.access.look()
      this.#failing = false
    } catch (error) {
      if (!this.#failing)
        this.log.warn({ err: error }, 'who may reach the daemon could not be read; what was known holds')
      this.#failing = true
    }
  }
}
