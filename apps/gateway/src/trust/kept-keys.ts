import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'

/** Ms before the first round, and between two. */
const firstAfter = 60_000
const every = 60 * 60_000

/** Forgets first answers under idempotency keys once they are a day old. */
@Injectable()
export class KeptKeys implements OnModuleInit, OnModuleDestroy {
  readonly #ending = new AbortController()
  #callOff: (() => void) | undefined
  #round: Promise<void> | undefined

  constructor(
    @Inject(Writer) private readonly writer: Writer,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.#plan(firstAfter)
  }

  async onModuleDestroy(): Promise<void> {
    this.#ending.abort()
    this.#callOff?.()
    await this.#round
  }

  /** Answers how many. */
  forget(): Promise<number> {
    return this.writer.forgetExpiredKeys(systemContext('gateway', this.#ending.signal))
  }

  #plan(after: number): void {
    this.#callOff = this.clock.after(after, () => {
      this.#round = this.forget()
        .then(
          () => undefined,
          (err: unknown) => this.log.warn({ err }, 'old idempotency keys are not forgotten yet'),
        )
        .then(() => {
          if (!this.#ending.signal.aborted) this.#plan(every)
        })
    })
  }
}
