import type { Clock } from '../clock.js'
import { abortedBy, SvcError } from '../errors.js'
import type { Logger } from '../log.js'
import { type Failure, failureOf, overrun, unavailable } from './bus.errors.js'
import { type Control, decode, encode, type Frame, type Grant } from './codec.js'
import { CreditReturn } from './credit.js'
import { timerFor } from './deadline.js'
import { Heartbeat, type Pulse } from './heartbeat.js'
import type { Inbox, Waiter } from './inbox.js'

export interface ConsumerSettings {
  readonly operation: string
  readonly service: string
  readonly subject: string
  /** The host id, of an operation of `host`. */
  readonly target?: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly inbox: Inbox
  readonly pulse: Pulse
  readonly window: Grant
  /** ms within which the server must take the request. */
  readonly openWithin: number
  /** Epoch ms at which the stream ends by force. */
  readonly deadline: number | undefined
  readonly signal: AbortSignal
  readonly request: Buffer
  readonly send: (subject: string, data: Buffer, reply?: string) => void
}

interface Batch {
  readonly items: readonly unknown[]
  readonly bytes: number
  at: number
}

interface Pending<T> {
  resolve(step: IteratorResult<T>): void
  reject(error: SvcError): void
}

/**
 * A stream as its consumer reads it. Nothing is sent before the first `next()` or `opened()`.
 *
 * Ends with the error that the handler threw, or `service_unavailable` when the producer falls silent, a frame is
 * missing or the connection is lost; items that came before are still handed out. Leaving it early cancels the producer.
 */
export class BusStream<T> implements AsyncIterableIterator<T>, Waiter {
  readonly subject: string
  readonly #credit: CreditReturn
  readonly #batches: Batch[] = []
  readonly #readers: Pending<T>[] = []
  readonly #accepted: Promise<void>
  #accept: () => void = () => undefined
  #refuse: (error: SvcError) => void = () => undefined
  #stage: 'new' | 'asked' | 'open' | 'over' = 'new'
  #failure: SvcError | undefined
  #frames = 0
  #address = ''
  #control: string | undefined
  #heartbeat: Heartbeat | undefined
  #callOff: (() => void)[] = []

  constructor(private readonly settings: ConsumerSettings) {
    this.subject = settings.subject
    this.#credit = new CreditReturn(settings.window)
    this.#accepted = new Promise((resolve, reject) => {
      this.#accept = resolve
      this.#refuse = reject
    })
    // A consumer that only iterates hears of the refusal there.
    this.#accepted.catch(() => undefined)
  }

  /** Resolves when the handler has accepted the request, before any item; rejects with its refusal. */
  opened(): Promise<void> {
    this.#ask()
    return this.#accepted
  }

  next(): Promise<IteratorResult<T>> {
    this.#ask()
    const batch = this.#batches[0]
    if (batch) return Promise.resolve({ value: this.#take(batch), done: false })
    if (this.#stage !== 'over') return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }))
    const failure = this.#failure
    this.#failure = undefined
    return failure ? Promise.reject(failure) : Promise.resolve({ value: undefined, done: true })
  }

  /** Cancels the producer and ends the stream. */
  return(): Promise<IteratorResult<T>> {
    this.#batches.length = 0
    this.#failure = undefined
    this.#leave(undefined)
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  onMessage(data: Uint8Array, reply: string | undefined): void {
    this.#heartbeat?.heard()
    const frame = decode<Frame>(data)
    if (frame.t === 'open') this.#control = reply
    if (this.#stage === 'over') this.#cancelLate()
    else this.#read(frame)
  }

  onFailure(failure: Failure): void {
    this.#finish(failureOf(failure, this.settings))
    this.settings.inbox.close(this.#address)
  }

  #ask(): void {
    if (this.#stage !== 'new') return
    const { clock, signal, inbox, operation, openWithin, deadline, request, send } = this.settings
    this.#stage = 'asked'
    if (signal.aborted) {
      this.#finish(abortedBy(signal))
      return
    }
    const leave = (): void => {
      this.#batches.length = 0
      this.#leave(abortedBy(signal))
    }
    signal.addEventListener('abort', leave, { once: true })
    this.#address = inbox.open(this)
    this.#callOff = [
      () => signal.removeEventListener('abort', leave),
      timerFor(clock, deadline, () => this.#leave(overrun(operation))),
      clock.after(openWithin, () => this.#stage === 'asked' && this.#leave(overrun(operation))),
    ]
    try {
      send(this.subject, request, this.#address)
    } catch (error) {
      this.#finish(error as SvcError)
      inbox.close(this.#address)
    }
  }

  #read(frame: Frame): void {
    switch (frame.t) {
      case 'open':
        this.#begin(frame.ready)
        break
      case 'ready':
        this.#accept()
        break
      case 'items':
        this.#frames += 1
        if (frame.n === this.#frames) this.#queue({ items: frame.items, bytes: frame.bytes, at: 0 })
        else this.#leave(unavailable(this.settings.service, 'a part of the stream was lost'))
        break
      case 'beat':
        break
      case 'end':
        if (frame.n === this.#frames) this.#finish(undefined)
        else this.#leave(unavailable(this.settings.service, 'the end of the stream was lost'))
        break
      case 'error':
        this.#finish(SvcError.fromWire(frame.error))
        break
    }
    if (this.#stage === 'over') this.settings.inbox.close(this.#address)
  }

  #begin(ready: boolean): void {
    const { clock, pulse, service } = this.settings
    this.#stage = 'open'
    this.#heartbeat = new Heartbeat(clock, pulse, {
      beat: () => this.#tell({ t: 'beat' }),
      silent: () => this.#leave(unavailable(service, 'it fell silent')),
    })
    if (ready) this.#accept()
  }

  #queue(batch: Batch): void {
    this.#batches.push(batch)
    while (this.#readers.length > 0 && this.#batches[0]) {
      this.#readers.shift()?.resolve({ value: this.#take(this.#batches[0]), done: false })
    }
  }

  #take(batch: Batch): T {
    const item = batch.items[batch.at] as T
    batch.at += 1
    if (batch.at === batch.items.length) {
      this.#batches.shift()
      const grant = this.#credit.consume(batch.items.length, batch.bytes)
      if (grant && this.#stage === 'open') this.#tell({ t: 'credit', ...grant })
    }
    return item
  }

  /** Ends the stream from this side: the producer is told. */
  #leave(error: SvcError | undefined): void {
    if (this.#stage === 'over') return
    const asked = this.#stage === 'asked'
    this.#finish(error)
    if (this.#control !== undefined) this.#cancelLate()
    // The server hasn't said yet where it listens: stay until it does, to cancel then.
    else if (asked)
      this.settings.clock.after(this.settings.pulse.silence, () => this.settings.inbox.close(this.#address))
  }

  #cancelLate(): void {
    this.#tell({ t: 'cancel' })
    this.settings.inbox.close(this.#address)
  }

  #finish(error: SvcError | undefined): void {
    if (this.#stage === 'over') return
    this.#stage = 'over'
    this.#heartbeat?.stop()
    for (const callOff of this.#callOff) callOff()
    if (error) this.#refuse(error)
    else this.#accept()
    const readers = this.#readers.splice(0)
    // One reader hears of the failure; the stream is simply over for the others.
    if (error && readers.length > 0) readers.shift()?.reject(error)
    else this.#failure = error
    for (const reader of readers) reader.resolve({ value: undefined, done: true })
  }

  #tell(control: Control): void {
    if (this.#control === undefined) return
    try {
      this.settings.send(this.#control, encode(control))
    } catch (err) {
      this.settings.log.debug({ err, operation: this.settings.operation }, 'a stream could not reach its producer')
    }
  }
}
