import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { appendLines, hasLink, type Link, lockHead } from './audit.chain.js'
import { type AuditLine, ownLine } from './audit.line.js'
import { LineFold } from './line.fold.js'

/** Lines of one transaction, and noted ones that are kept while none can be written. */
const batchSize = 500
const keptAtMost = 2000
/** How long a request waits for its line, and how long after a failure it is tried again (ms). */
const patience = 5000
const tryAgainAfter = 1000

interface Waiting {
  readonly line: AuditLine
  readonly settle?: { resolve(): void; reject(error: unknown): void }
}

const unwritten = (cause: unknown): SvcError =>
  new SvcError(
    'service_unavailable',
    'The audit log can’t be written, and without its line this is not done.',
    { service: 'audit' },
    { cause },
  )

/**
 * Writes the audit log. All lines go through one queue, of which one transaction at a time takes what has gathered: a burst
 * costs a few commits, and the chain is locked by each gateway once a commit.
 *
 * What a kill takes with it: lines that were noted in its last moments and not yet written. A line that was awaited stands
 * before what it tells of was begun.
 */
@Injectable()
export class AuditLog implements BeforeApplicationShutdown {
  readonly #fold = new LineFold()
  #queue: Waiting[] = []
  #writing: Promise<void> | undefined
  #callOff: (() => void) | undefined
  /** When gathered lines are looked at next (monotonic ms). */
  #wakesAt = Number.POSITIVE_INFINITY
  #callOffRetry: (() => void) | undefined
  /** Lines for which there was no room. */
  #lost = 0
  /** The last batch of which it isn't known whether it was committed, by where it would end. */
  #doubt: { readonly end: Link; readonly lines: readonly Waiting[]; readonly lost: number } | undefined
  /** Lines that turned out to stand though their commit seemed to fail. */
  readonly #standing = new WeakSet<Waiting>()

  constructor(
    @Inject(Writer) private readonly writer: Writer,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /**
   * Resolves when the line is on the disk.
   *
   * @throws SvcError `service_unavailable` when it can't be written within 5 s.
   */
  async append(line: AuditLine): Promise<void> {
    let callOff = (): void => undefined
    const written = new Promise<void>((resolve, reject) => {
      const waiting: Waiting = { line, settle: { resolve, reject } }
      this.#queue.push(waiting)
      callOff = this.clock.after(patience, () => {
        this.#queue = this.#queue.filter((one) => one !== waiting)
        reject(new Error(`it took longer than ${patience} ms`))
      })
    })
    void this.#write()
    try {
      await written
    } catch (error) {
      throw unwritten(error)
    } finally {
      callOff()
    }
  }

  /** Has the line written soon, folded with those like it. Never throws; nobody waits for it. */
  note(line: AuditLine): void {
    this.#fold.add(line, this.clock.monotonic())
    this.#schedule()
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#callOff?.()
    this.#endRetry()
    this.#gather(true)
    // a batch that was under way, and what came behind it
    await this.#write()
    await this.#write()
    this.#endRetry()
    if (this.#queue.length + this.#lost > 0)
      this.log.error({ lines: this.#queue.length + this.#lost }, 'lines of the audit log could not be written')
  }

  #schedule(): void {
    const due = this.#fold.due
    if (due === undefined || due >= this.#wakesAt) return
    this.#callOff?.()
    this.#wakesAt = due
    this.#callOff = this.clock.after(Math.max(0, due - this.clock.monotonic()), () => {
      this.#wakesAt = Number.POSITIVE_INFINITY
      this.#gather(false)
      this.#schedule()
    })
  }

  #gather(all: boolean): void {
    const lines = this.#fold.take(this.clock.monotonic(), all)
    for (const line of lines) {
      if (this.#queue.length < keptAtMost) this.#queue.push({ line })
      else this.#lost += line.repeated
    }
    if (lines.length > 0) void this.#write()
  }

  #write(): Promise<void> {
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined
      // what came while the last look at the queue was over
      if (this.#queue.length > 0 && !this.#callOffRetry) void this.#write()
    })
    return this.#writing
  }

  async #drain(): Promise<void> {
    this.#endRetry()
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, batchSize)
      try {
        await this.#commit(batch)
        for (const { settle } of batch) settle?.resolve()
      } catch (error) {
        for (const { settle } of batch) settle?.reject(error)
        this.#queue.unshift(...batch.filter((waiting) => !waiting.settle && !this.#standing.has(waiting)))
        this.log.warn({ err: error, lines: batch.length }, 'lines of the audit log are not written yet')
        this.#callOffRetry = this.clock.after(tryAgainAfter, () => void this.#write())
        return
      }
    }
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    let end: Link | undefined
    let lost = 0
    try {
      await this.writer.transact(systemContext('gateway'), async ({ tx }) => {
        end = undefined
        const head = await lockHead(tx)
        await this.#settleDoubt(tx)
        lost = this.#lost
        const lines = batch.filter((waiting) => !this.#standing.has(waiting)).map(({ line }) => line)
        if (lost > 0) lines.push(lostLine(this.clock.now(), lost))
        if (lines.length > 0) end = appendLines(tx, head, lines)
      })
    } catch (error) {
      if (end) this.#doubt = { end, lines: batch, lost }
      throw error
    }
    this.#lost -= lost
  }

  /** Behind the locked head every earlier commit has come to its end: what is found stands, whatever becomes of this one. */
  async #settleDoubt(tx: Tx): Promise<void> {
    const doubt = this.#doubt
    if (!doubt) return
    if (await hasLink(tx, doubt.end)) {
      for (const waiting of doubt.lines) this.#standing.add(waiting)
      this.#lost -= doubt.lost
    }
    this.#doubt = undefined
  }

  #endRetry(): void {
    this.#callOffRetry?.()
    this.#callOffRetry = undefined
  }
}

/** So many requests have no line. */
const lostLine = (now: number, lines: number): AuditLine => ({ ...ownLine(now, 'audit.lost', null), repeated: lines })
