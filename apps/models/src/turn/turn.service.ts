import { createHash } from 'node:crypto'
import type { LlmAnswer, LlmItem, TurnCall } from '#common/contract/index.js'
import { backoff, type Clock, pause } from '#common/kernel/clock.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { hasCode, isSvcError, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import type { CallEngine } from '../call/call.engine.js'
import { channels, type DatabaseSession } from '../session/database-session.repository.js'
import type { Holders } from '../session/holder.repository.js'
import { notice } from '../session/notice.repository.js'
import type { BudgetService } from '../usage/budget.service.js'
import type { SpendRepository } from '../usage/spend.repository.js'
import { usageMessage } from '../usage/usage.relay.js'
import { TurnJob } from './turn.job.js'
import type { CallEnd, Claim, RecordedCall, StepKey, TurnRepository } from './turn.repository.js'

/** Ms between two looks at a call that another replica runs. */
const LOOK_EVERY = 250
/** Ms at the end of a drain to record the calls that were cut off. */
const LAST_WORDS = 2000
/** Ms for which an answer is kept in memory while the database can't take it. */
const KEEP_TRYING = 600_000

const nameOf = ({ nodeId, turn, step }: StepKey): string => `${nodeId}/${turn}/${step}`

const hashOf = ({ messages, tools, ...rest }: TurnCall): string =>
  createHash('sha256')
    .update(JSON.stringify([messages, tools, rest]))
    .digest('hex')

const canceled = (): SvcError => new SvcError('client_closed', 'The model call was canceled.')

/**
 * The model calls of nodes' turns. Each is recorded under node, turn and step before it is sent, and its answer before it
 * is told, so that an answer is bought once however often it is asked for:
 *
 * - recorded as completed: read back;
 * - running here: followed from its first word; running in another replica: waited for;
 * - begun by a process that is gone: recorded as `outcome_unknown`, and bought again as the next attempt.
 *
 * Who stops reading does not stop the call: a broker that was killed has a successor. An interrupt cancels explicitly.
 */
export class TurnService {
  readonly #jobs = new Map<string, TurnJob>()
  readonly #work = new Set<Promise<void>>()

  constructor(
    private readonly database: Database,
    private readonly writer: Writer,
    private readonly turns: TurnRepository,
    private readonly engine: CallEngine,
    private readonly budget: BudgetService,
    private readonly spend: SpendRepository,
    private readonly session: DatabaseSession,
    private readonly holders: Holders,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    session.on(channels.cancel, (name) => this.#jobs.get(name)?.abort(canceled()))
  }

  /** What the step's call says, from its first word. Errors as of the engine, and budget_exhausted. */
  call(ctx: Context, input: TurnCall & { id: string }): AsyncIterable<LlmItem> {
    const { id: nodeId, ...call } = input
    const key = { nodeId, turn: call.turn, step: call.step }
    return (this.#jobs.get(nameOf(key)) ?? this.#begin(key, call)).follow(ctx.signal)
  }

  /** Ends the step's call at its provider; answers whether it was running. */
  async cancel(key: StepKey): Promise<boolean> {
    const job = this.#jobs.get(nameOf(key))
    if (job) {
      job.abort(canceled())
      return true
    }
    const newest = await this.turns.newest(this.database, key)
    if (newest?.status !== 'started' || (await this.holders.isDead(newest.holder))) return false
    await notice(this.database, channels.cancel, nameOf(key))
    return true
  }

  /** Waits for the calls that run, at most `grace` ms; those that are left end at their providers and are recorded so. */
  async drain(grace: number): Promise<void> {
    const working = (): Promise<unknown> => Promise.allSettled([...this.#work])
    const stopping = new SvcError('service_unavailable', 'The service is stopping.', { service: 'models' })
    await Promise.race([working(), pause(this.clock, grace)])
    for (const job of this.#jobs.values()) job.abort(stopping)
    await Promise.race([working(), pause(this.clock, LAST_WORDS)])
  }

  #begin(key: StepKey, call: TurnCall): TurnJob {
    const job = new TurnJob(this.clock)
    this.#jobs.set(nameOf(key), job)
    const work = this.#drive(key, call, job)
      .then(
        () => job.buffer.finish(),
        (error: unknown) => job.buffer.fail(error),
      )
      .finally(() => {
        job.done()
        this.#jobs.delete(nameOf(key))
        this.#work.delete(work)
      })
    this.#work.add(work)
    return job
  }

  async #drive(key: StepKey, call: TurnCall, job: TurnJob): Promise<void> {
    const hash = hashOf(call)
    for (;;) {
      await this.session.held(job.signal)
      const by = { hash, holder: this.session.holder, now: this.clock.now() }
      const claim = await this.turns.claim(this.database, key, by)
      if (claim) return this.#buy(key, call, job, claim)
      const newest = await this.turns.newest(this.database, key)
      if (newest?.status === 'completed' && newest.answer !== null) return this.#readBack(key, hash, job, newest)
      if (newest?.status === 'completed') await this.#expire(key, newest)
      if (newest?.status === 'started') await this.#await(key, job, newest)
    }
  }

  /** An answer that nobody asked for again within weeks is kept no longer; who does after all buys another. */
  async #expire(key: StepKey, newest: RecordedCall): Promise<void> {
    this.log.warn({ call: nameOf(key), attempt: newest.attempt }, 'a recorded answer is kept no longer')
    await this.turns.expire(this.database, key, newest)
  }

  #readBack(key: StepKey, hash: string, job: TurnJob, { answer, requestHash, unknown }: RecordedCall): void {
    if (requestHash !== hash) this.log.warn({ call: nameOf(key) }, 'a recorded answer is read back for another request')
    this.#tell(job, answer as LlmAnswer, true, unknown)
  }

  /** Of an attempt that runs elsewhere: waits a little; of one whose holder is gone: gives it up. */
  async #await(key: StepKey, job: TurnJob, newest: RecordedCall): Promise<void> {
    // ours, and yet no job of ours: its end could not be recorded
    const lost = newest.holder === this.session.holder || (await this.holders.isDead(newest.holder))
    if (lost) {
      this.log.warn({ call: nameOf(key), attempt: newest.attempt }, 'a model call ended unseen')
      await this.turns.forsake(this.database, key, newest, this.clock.now())
      return
    }
    if (!job.followed) throw new SvcError('client_closed')
    await pause(this.clock, LOOK_EVERY, job.signal)
    job.signal.throwIfAborted()
  }

  async #buy(key: StepKey, call: TurnCall, job: TurnJob, claim: Claim): Promise<void> {
    try {
      await this.budget.check()
      const answer = await this.engine.run(call, job.signal, (item) => job.buffer.push(item))
      await this.#record(key, claim, { status: 'completed', answer })
      this.#tell(job, answer, false, claim.unknown)
    } catch (error) {
      if (!isSvcError(error)) this.log.error({ err: error, call: nameOf(key) }, 'a model call failed in our own code')
      const told = isSvcError(error) ? error : new SvcError('internal')
      await this.#record(key, claim, { status: 'failed', error: told.toWire() })
      throw told
    }
  }

  #tell(job: TurnJob, answer: LlmAnswer, replayed: boolean, unknown: number): void {
    job.buffer.push({ type: 'answer', answer, replayed, ...(unknown > 0 && { unknown_attempts: unknown }) })
  }

  /** A paid answer is worth waiting for a database that is away. @throws SvcError service_unavailable after ten minutes. */
  async #record(key: StepKey, { attempt }: Claim, end: CallEnd): Promise<void> {
    const until = this.clock.monotonic() + KEEP_TRYING
    for (let round = 0; ; round += 1) {
      try {
        return await this.#recordOnce(key, attempt, end)
      } catch (error) {
        const hopeless = !hasCode(error, 'service_unavailable', 'deadline_exceeded', 'storage_full')
        if (hopeless || this.clock.monotonic() >= until) throw error
        this.log.warn({ err: error, call: nameOf(key) }, 'the end of a model call could not be recorded; trying again')
        await pause(this.clock, 50 + backoff(round, 50, 2000))
      }
    }
  }

  async #recordOnce(key: StepKey, attempt: number, end: CallEnd): Promise<void> {
    const by = { attempt, holder: this.session.holder, now: this.clock.now() }
    await this.writer.transact(systemContext('models'), async ({ tx }) => {
      const open = await this.turns.finish(tx, key, by, end)
      if (end.status !== 'completed') return
      if (!open) return this.#requireRecorded(tx, key, attempt)
      const { input_tokens, output_tokens } = end.answer.usage
      this.spend.add(tx, `node:${key.nodeId}`, end.answer)
      tx.deliver(usageMessage(`${nameOf(key)}/${attempt}`, key.nodeId, end.answer, input_tokens + output_tokens))
    })
  }

  /**
   * Of an attempt that was closed already: by ourselves, when the answer to our commit was lost; else by a replica that
   * took us for dead.
   *
   * @throws SvcError model_call_unknown
   */
  async #requireRecorded(tx: Tx, key: StepKey, attempt: number): Promise<void> {
    const newest = await this.turns.newest(tx, key)
    if (newest?.attempt !== attempt || newest.status !== 'completed') throw new SvcError('model_call_unknown')
  }
}
