import type { Clock } from '../clock.js'
import type { ErrorWire } from '../errors.js'
import { abortedBy, SvcError } from '../errors.js'
import type { Logger } from '../log.js'
import { overrun, tooLarge } from './bus.errors.js'
import { type Control, decode, encode, encodeItem, encodeItems, type Frame, type Grant } from './codec.js'
import { CreditWindow } from './credit.js'
import { timerFor } from './deadline.js'
import { Heartbeat, type Pulse } from './heartbeat.js'
import type { Inbox, Waiter } from './inbox.js'

/** Encoded items gathered for one frame; more begin another. */
const frameBytes = 64 * 1024
/** What a frame weighs without its items, generously. */
const frameOverhead = 256

export interface ProducerSettings {
  readonly operation: string
  readonly clock: Clock
  readonly log: Logger
  readonly inbox: Inbox
  readonly pulse: Pulse
  readonly window: Grant
  readonly maxPayload: number
  /** Epoch ms at which the stream ends by force. */
  readonly deadline: number | undefined
  /** Sends to the consumer; `reply` is where the consumer answers. */
  readonly send: (frame: Buffer, reply?: string) => void
  readonly explain: (error: unknown, signal: AbortSignal) => ErrorWire
}

export type Produced = AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>

/**
 * The server's side of one stream: pulls items only while the consumer has granted room for them, so that neither this
 * process nor NATS keeps more than one window, however slow the consumer is.
 *
 * The first item of a tick leaves at once; those that follow in the same tick share a frame.
 */
export class StreamProducer implements Waiter {
  readonly subject = ''
  readonly #abort = new AbortController()
  readonly #credit: CreditWindow
  #batch: string[] = []
  #batchBytes = 0
  #sentThisTick = false
  #frames = 0
  #heartbeat: Heartbeat | undefined
  #interrupt: ((reason: unknown) => void) | undefined
  #consumerGone = false

  constructor(private readonly settings: ProducerSettings) {
    this.#credit = new CreditWindow(settings.window)
  }

  /** Fires when the consumer cancels or vanishes, at the deadline, and when the service stops. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Items produced and not yet consumed. */
  get inFlight(): Grant {
    return this.#credit.inFlight
  }

  /** Ends the stream; the consumer is told why unless it has gone itself. */
  abort(reason: SvcError): void {
    if (this.#abort.signal.aborted) return
    this.#abort.abort(reason)
    this.#interrupt?.(reason)
  }

  onMessage(data: Uint8Array): void {
    this.#heartbeat?.heard()
    const control = decode<Control>(data)
    if (control.t === 'credit') this.#credit.give(control)
    else if (control.t === 'cancel') this.onFailure()
  }

  onFailure(): void {
    this.#consumerGone = true
    this.abort(new SvcError('client_closed'))
  }

  /** Runs the stream to its end. Never rejects: what goes wrong is told to the consumer. */
  async run(produce: (signal: AbortSignal) => Produced): Promise<void> {
    const { clock, pulse, inbox, deadline, explain, operation } = this.settings
    const address = inbox.open(this)
    const callOff = timerFor(clock, deadline, () => this.abort(overrun(operation)))
    this.#heartbeat = new Heartbeat(clock, pulse, {
      beat: () => this.#tell({ t: 'beat' }, address),
      silent: () => this.onFailure(),
    })
    try {
      await this.#pump(await this.#begin(produce, address))
      this.#flush()
      this.#tell({ t: 'end', n: this.#frames })
    } catch (error) {
      if (!this.#consumerGone) {
        this.#flush()
        this.#tell({ t: 'error', error: explain(error, this.signal) })
      }
    } finally {
      this.#batch = []
      this.#heartbeat.stop()
      callOff()
      inbox.close(address)
    }
  }

  async #begin(produce: (signal: AbortSignal) => Produced, address: string): Promise<AsyncIterable<unknown>> {
    const produced = produce(this.signal)
    const ready = !(produced instanceof Promise)
    this.#tell({ t: 'open', ready }, address)
    if (ready) return produced
    const items = await this.#unlessAborted(produced)
    this.#tell({ t: 'ready' })
    return items
  }

  async #pump(items: AsyncIterable<unknown>): Promise<void> {
    const iterator = items[Symbol.asyncIterator]()
    let finished = false
    try {
      for (;;) {
        if (!this.#credit.open) await this.#unlessAborted(this.#credit.room())
        const step = await this.#unlessAborted(iterator.next())
        finished = step.done === true
        if (finished) return
        this.#accept(step.value)
      }
    } finally {
      // Not awaited: a generator that waits for something else returns only after that.
      if (!finished) this.#release(iterator)
    }
  }

  #release(iterator: AsyncIterator<unknown>): void {
    const { log, operation } = this.settings
    iterator.return?.().catch((err: unknown) => log.debug({ err, operation }, 'an abandoned stream failed to clean up'))
  }

  #accept(item: unknown): void {
    const { maxPayload } = this.settings
    const text = encodeItem(item)
    const bytes = Buffer.byteLength(text)
    if (bytes > maxPayload - frameOverhead) throw tooLarge(bytes, maxPayload)
    if (this.#batchBytes + bytes > frameBytes) this.#flush()
    this.#credit.take(bytes)
    this.#batch.push(text)
    this.#batchBytes += bytes
    if (this.#sentThisTick) return
    this.#flush()
    this.#sentThisTick = true
    setImmediate(this.#nextTick)
  }

  readonly #nextTick = (): void => {
    this.#sentThisTick = this.#batch.length > 0
    if (!this.#sentThisTick) return
    this.#flush()
    setImmediate(this.#nextTick)
  }

  #flush(): void {
    if (this.#batch.length === 0) return
    this.#frames += 1
    const frame = encodeItems(this.#frames, this.#batchBytes, this.#batch)
    this.#batch = []
    this.#batchBytes = 0
    this.#post(frame)
  }

  #tell(frame: Frame, reply?: string): void {
    this.#post(encode(frame), reply)
  }

  /** A frame that can't be sent ends the stream: its number would be missed anyway. */
  #post(frame: Buffer, reply?: string): void {
    try {
      this.settings.send(frame, reply)
    } catch (err) {
      this.settings.log.debug({ err, operation: this.settings.operation }, 'a stream could not reach its consumer')
      this.onFailure()
    }
  }

  /** The promise's own outcome, or the abort's reason if that comes first; holds nothing once it is settled. */
  #unlessAborted<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject
      promise.then(resolve, reject)
      if (this.signal.aborted) reject(abortedBy(this.signal))
    })
  }
}
