import { systemClock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { type Answer, type Execution, type ExecutionOrder, execute } from './bash.execution.js'
import type { BashRecords, RecordedCommand } from './bash.records.js'

/** What is run, and what a repetition under its key must agree with. */
export interface Run extends Pick<ExecutionOrder, 'argv' | 'timeout' | 'stdin' | 'outputBytes' | 'largest'> {
  /** Whose the key is. */
  readonly holder: string
  readonly recorded: RecordedCommand
  /** Where it runs; what this throws refuses it. */
  place(): Promise<ExecutionOrder['place']>
}

/** Commands that somebody waits for: each once for its key, so many at a time, and none beyond the end of this host. */
export class CommandRuns {
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<Execution>>()

  constructor(
    private readonly records: BashRecords,
    /** How many run at once. */
    private readonly cap: number,
  ) {}

  open(): Promise<void> {
    return this.records.open()
  }

  /** Nothing is left running that nobody waits for. */
  async close(): Promise<void> {
    this.#closing.abort(new SvcError('service_unavailable', 'The host stops.', { service: 'host' }))
    await Promise.allSettled(this.#running)
    await this.records.close()
  }

  /**
   * Runs a command once. With an idempotency key a repetition gets the first answer.
   *
   * @throws SvcError `quota_exceeded`, what refused the place; with a key `idempotency_in_progress`,
   * `idempotency_key_reused`, `outcome_unknown`, `storage_full`.
   */
  async run(ctx: Context, run: Run): Promise<Answer> {
    const { idempotencyKey: key } = ctx
    if (key === undefined) return this.#perform(ctx, run)
    const claim = await this.records.claim(run.holder, key, run.recorded)
    if (!('keep' in claim)) {
      if (ctx.notes) ctx.notes.replayed = true
      return claim
    }
    const end = await this.#attempt(ctx, run).catch((error: unknown) => {
      claim.forsake()
      throw error
    })
    switch (end.kind) {
      case 'answer':
        await claim.keep(end.answer)
        return end.answer
      case 'refused':
        await claim.release()
        throw end.error
      case 'cut_off':
        claim.forsake()
        throw end.error
    }
  }

  async #perform(ctx: Context, run: Run): Promise<Answer> {
    const end = await this.#attempt(ctx, run)
    if (end.kind === 'answer') return end.answer
    throw end.error
  }

  async #attempt({ signal }: Context, run: Run): Promise<Execution> {
    if (this.#running.size >= this.cap) {
      const message = `${this.cap} commands run already on this host; SVC_BASH_CAP says how many may.`
      const fields = { limit: this.cap, retry_after_ms: 1000 }
      return { kind: 'refused', error: new SvcError('quota_exceeded', message, fields) }
    }
    const execution = run.place().then(
      (place) =>
        execute({ ...run, place, signal: AbortSignal.any([signal, this.#closing.signal]), clock: systemClock }),
      (error: unknown): Execution => ({ kind: 'refused', error }),
    )
    this.#running.add(execution)
    try {
      return await execution
    } finally {
      this.#running.delete(execution)
    }
  }
}
