import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { TokenRepository } from './token.repository.js'

/** How long (ms) uses are gathered: what a crash loses is less than a minute. */
const gather = 10_000
const minute = 60_000

/**
 * When each kept token was last used, to the minute. A request only leaves a mark in memory; the rows are written in
 * batches, and each token's at most once a minute.
 */
@Injectable()
export class TokenUse implements BeforeApplicationShutdown {
  #marked = new Map<string, number>()
  /** Tokens whose use in the newest minute is written already. */
  readonly #written = new Map<string, number>()
  #armed: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(
    @Inject(TokenRepository) private readonly repository: TokenRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  note(tokenId: string): void {
    const now = this.clock.now()
    const at = now - (now % minute)
    if (this.#written.get(tokenId) === at) return
    this.#marked.set(tokenId, at)
    this.#arm()
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flush()
  }

  /** Writes what was marked. One that fails is marked again. */
  flush(): Promise<void> {
    this.#armed?.()
    this.#armed = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const marked = this.#marked
    if (marked.size === 0) return
    this.#marked = new Map()
    try {
      await this.repository.used(marked)
      this.#remember(marked)
    } catch (err) {
      this.log.warn({ err }, 'the last use of tokens could not be written yet')
      for (const [id, at] of marked) this.#marked.set(id, Math.max(at, this.#marked.get(id) ?? 0))
      this.#arm()
    }
  }

  #arm(): void {
    this.#armed ??= this.clock.after(gather, () => void this.flush())
  }

  /** Only the newest minute counts: who is used in a later one is written again. */
  #remember(marked: ReadonlyMap<string, number>): void {
    const newest = Math.max(...marked.values())
    for (const [id, at] of this.#written) if (at < newest) this.#written.delete(id)
    for (const [id, at] of marked) if (at === newest) this.#written.set(id, at)
  }
}
