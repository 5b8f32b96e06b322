import type { Clock } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import { systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import type { TurnRepository } from './turn.repository.js'

const day = 86_400_000
/** Ms between two rounds, and before the first one. */
const sweepEvery = 3_600_000
const firstAfter = 60_000
/** Answers of one statement. */
const batch = 200

/**
 * Forgets what models answered once it is old: the journal of the node holds it since the turn. What each call cost stays.
 */
export class AnswerSweep {
  #callOff: () => void = () => undefined
  #stopped = false

  constructor(
    private readonly database: Database,
    private readonly writer: Writer,
    private readonly turns: TurnRepository,
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(after = firstAfter): void {
    this.#callOff = this.clock.after(after, () => {
      this.round()
        .catch((err: unknown) => this.log.warn({ err }, 'old answers could not be cleared; trying again later'))
        .finally(() => this.#stopped || this.start(sweepEvery))
    })
  }

  stop(): void {
    this.#stopped = true
    this.#callOff()
  }

  /** Answers how many were forgotten, besides those under idempotency keys. */
  async round(): Promise<number> {
    await this.writer.forgetExpiredKeys(systemContext('models'))
    const { SVC_KEEP_ANSWERS_DAYS: days } = this.settings
    if (days === 0) return 0
    const before = this.clock.now() - days * day
    let dropped = 0
    for (let more = true; more && !this.#stopped; ) {
      const count = await this.turns.dropAnswers(this.database, before, batch)
      dropped += count
      more = count === batch
    }
    await this.turns.noteDropped(this.database, dropped, this.clock.now())
    return dropped
  }
}
