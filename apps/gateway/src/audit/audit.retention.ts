import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { AuditRepository } from './audit.repository.js'

const day = 24 * 60 * 60_000
const firstAfter = 60_000
const every = 60 * 60_000

/** Clears the audit log of what is older than `SVC_KEEP_AUDIT_DAYS`, in steps that are short enough to be waited for. */
@Injectable()
export class AuditRetention implements OnModuleInit, OnModuleDestroy {
  #ended = false
  #callOff: (() => void) | undefined
  #round: Promise<void> | undefined

  constructor(
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    if (this.settings.SVC_KEEP_AUDIT_DAYS > 0) this.#plan(firstAfter)
  }

  async onModuleDestroy(): Promise<void> {
    this.#ended = true
    this.#callOff?.()
    await this.#round
  }

  /** Clears all that is due; what a stop cuts short the next round takes up. */
  async clear(): Promise<number> {
    const before = this.clock.now() - this.settings.SVC_KEEP_AUDIT_DAYS * day
    let gone = 0
    for (let step = 1; step > 0 && !this.#ended; gone += step) step = await this.audit.prune(before)
    return gone
  }

  #plan(after: number): void {
    this.#callOff = this.clock.after(after, () => {
      this.#round = this.clear()
        .then(
          (lines) => lines > 0 && this.log.info({ lines }, 'lines of the audit log were cleared'),
          (err: unknown) => this.log.warn({ err }, 'the audit log is not cleared yet'),
        )
        .then(() => {
          if (!this.#ended) this.#plan(every)
        })
    })
  }
}
