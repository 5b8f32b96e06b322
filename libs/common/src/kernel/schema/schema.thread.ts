import { Worker } from 'node:worker_threads'
import type { Clock } from '../clock.js'
import { SvcError } from '../errors.js'
import { FairQueue } from '../fair-queue.js'
import type { Logger } from '../log.js'
import type { SchemaAnswer, SchemaQuestion } from './schema.worker.js'

/** How long (ms) one check may take. */
export const schemaPatience = 2000
/** How long (ms) a thread may take to start, which a busy machine does slowly. */
const startPatienceMs = 10_000
/** A thread without work for this long (ms) is ended: most daemons never need one. */
const idleMs = 60_000
/** Memory (MiB) of the thread: a schema that needs more is refused. */
const heapMiB = 64
/** Checks that wait; more are refused, so that hostile schemas can't queue up. */
const queueLimit = 100
/** Of these, of one: its patterns may backtrack, and each check of them then takes all the time that it has. */
const shareLimit = 20

interface Waiting {
  readonly question: SchemaQuestion
  readonly settle: (answer: SchemaAnswer | undefined) => void
}

/** Of this file's own kind: compiled in the daemon, as it is written in a test. */
const workerFile = new URL(`./schema.worker${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`, import.meta.url)

/**
 * Compiles and applies JSON Schemas that callers sent. In a thread of its own, one check after another, each within a
 * bounded time and memory: a pattern that backtracks for ever, or a schema that compiles to a giant, costs its sender an
 * error, and never holds up the process.
 */
export class SchemaThread {
  private readonly waiting = new FairQueue<Waiting>(queueLimit, shareLimit)
  private worker: Worker | undefined
  private asked: Waiting | undefined
  private callOff: () => void = () => undefined
  private count = 0

  constructor(
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /**
   * Whether the schema can be used, and how the value misses it, when one is given. Answers undefined when the time or
   * the memory ran out.
   *
   * @param whose for whom it is: many checks of one wait behind one of each other
   * @throws SvcError rate_limited when too many wait.
   */
  ask(
    schema: Record<string, unknown>,
    value?: { readonly given: unknown },
    whose = '',
  ): Promise<SchemaAnswer | undefined> {
    this.count += 1
    const question = { id: this.count, schema, ...(value && { value }) }
    return new Promise((settle, refuse) => {
      if (!this.waiting.add(whose, { question, settle }))
        refuse(new SvcError('rate_limited', 'Too many schemas are being checked.'))
      this.next()
    })
  }

  async close(): Promise<void> {
    this.callOff()
    await this.worker?.terminate()
  }

  private next(): void {
    if (this.asked) return
    this.asked = this.waiting.take()
    this.callOff()
    if (!this.asked) {
      this.callOff = this.clock.after(idleMs, () => this.drop())
      return
    }
    const fresh = this.worker === undefined
    this.worker ??= this.start()
    const { worker } = this
    this.callOff = this.clock.after(fresh ? startPatienceMs : schemaPatience, () => this.answered(worker, undefined))
    worker.postMessage(this.asked.question)
  }

  private start(): Worker {
    const worker = new Worker(workerFile, {
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      env: {},
      execArgv: [],
    })
    worker.on('message', (said: SchemaAnswer | 'ready') =>
      said === 'ready' ? this.began(worker) : this.answered(worker, said),
    )
    worker.on('error', (err) => {
      this.log.warn({ err }, 'the thread that checks schemas ended')
      this.answered(worker, undefined)
    })
    worker.unref()
    return worker
  }

  /** Its start is over: from here on it is the check that takes its time. */
  private began(worker: Worker): void {
    if (worker !== this.worker || !this.asked) return
    this.callOff()
    this.callOff = this.clock.after(schemaPatience, () => this.answered(worker, undefined))
  }

  private answered(worker: Worker, answer: SchemaAnswer | undefined): void {
    if (worker !== this.worker) return
    if (!answer) this.drop()
    const { asked } = this
    this.asked = undefined
    asked?.settle(answer)
    this.next()
  }

  private drop(): void {
    const { worker } = this
    this.worker = undefined
    void worker?.terminate()
  }
}
