import type { Operation } from '../../contract/define.js'
import type { Clock } from '../clock.js'
import { type AnswerNotes, contextOf, type Envelope } from '../context.js'
import { abortedBy, type ErrorWire, isSvcError, SvcError } from '../errors.js'
import type { Logger } from '../log.js'
import { callerOf } from '../subjects.js'
import { beginSpan, type Span } from '../trace/span.js'
import { overrun, unavailable } from './bus.errors.js'
import { CallWatch } from './call.watch.js'
import { decode, encode, type Grant, type Request } from './codec.js'
import type { BusConnection } from './connection.js'
import { timerFor } from './deadline.js'
import type { Endpoint } from './endpoints.js'
import type { Pulse } from './heartbeat.js'
import type { Inbox } from './inbox.js'
import { parseInput } from './input.parser.js'
import type { BusMessage } from './neighbours.js'
import { StreamProducer } from './stream.producer.js'

export interface DispatcherSettings {
  readonly service: string
  readonly connection: BusConnection
  readonly inbox: Inbox
  readonly clock: Clock
  readonly log: Logger
  readonly pulse: Pulse
  /** Calls and streams at work at once; more are refused with `service_unavailable`. */
  readonly capacity: number
}

/** A step of the trace that its caller is in; what belongs to none begins none. */
const spanOf = ({ name, service }: Operation, { traceparent, requestId, actor }: Envelope): Span | undefined =>
  traceparent === undefined
    ? undefined
    : beginSpan(name, 'server', traceparent, {
        'svc.service': service,
        'svc.request_id': requestId,
        'svc.principal': actor.principal,
      })

const within = (envelope: Envelope, span: Span | undefined): Envelope =>
  span?.traceparent === undefined ? envelope : { ...envelope, traceparent: span.traceparent }

interface Work {
  abort(reason: SvcError): void
}

/** Takes one request off the bus, runs its handler, and answers: with the output, the items, or a typed error. */
export class Dispatcher {
  readonly #working = new Set<Work>()
  /** Calls at work by the address of their answer, which no other call of any service has. */
  readonly #calls = new Map<string, AbortController>()
  readonly #idle: (() => void)[] = []

  constructor(private readonly settings: DispatcherSettings) {}

  /** Calls and streams at work. */
  get working(): number {
    return this.#working.size
  }

  receive(endpoint: Endpoint, message: BusMessage): void {
    const { log, clock, service, capacity } = this.settings
    const { reply, subject } = message
    const request = reply === undefined ? undefined : this.#read(message, reply)
    if (reply === undefined || request === undefined) {
      log.warn({ subject }, 'a command that could not be read or answered')
      return
    }
    const { ctx: envelope, open } = request
    const late = (envelope.deadline ?? Infinity) <= clock.now()
    const full = this.#working.size >= capacity
    if (late || full) {
      const error = late ? overrun(endpoint.entry.name) : unavailable(service, 'it has too much to do')
      this.#refuse(reply, error.toWire(), open !== undefined)
      return
    }
    const run =
      open === undefined ? this.#answer(endpoint, request, reply) : this.#produce(endpoint, request, open, reply)
    run.catch((err: unknown) => log.error({ err, request_id: envelope.requestId }, 'a command could not be answered'))
  }

  /**
   * Fires the signal of the call that is to be answered at this message's `reply`. Permissions hold who may send on a
   * subject; that a service names no other's call is checked here. One that is over, or another replica's, is no news.
   */
  cancel({ subject, reply = '' }: BusMessage): void {
    if (subject.endsWith(`.${callerOf(reply)}`)) this.#calls.get(reply)?.abort(new SvcError('client_closed'))
  }

  /** Resolves when nothing is at work. */
  async idle(): Promise<void> {
    if (this.#working.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Ends every stream with this error. */
  abortStreams(reason: SvcError): void {
    for (const work of [...this.#working]) if (work instanceof StreamProducer) work.abort(reason)
  }

  /** Fires the signal of everything at work. */
  abortAll(reason: SvcError): void {
    for (const work of [...this.#working]) work.abort(reason)
  }

  async #answer(endpoint: Endpoint, { ctx: envelope, input, outlives }: Request, reply: string): Promise<void> {
    const { entry, call } = endpoint
    const controller = new AbortController()
    const callOff = timerFor(this.settings.clock, envelope.deadline, () => controller.abort(overrun(entry.name)))
    this.#working.add(controller)
    this.#calls.set(reply, controller)
    const { clock, pulse, inbox, connection } = this.settings
    const gone = (): void => (outlives ? undefined : controller.abort(new SvcError('client_closed')))
    const watch = new CallWatch({ clock, pulse, inbox, connection, reply, gone })
    const span = spanOf(entry, envelope)
    try {
      if (!call) throw new SvcError('malformed_request', `${entry.name} answers with a stream`)
      const parsed = entry.kind === 'internal' ? parseInput(entry, input) : input
      const notes: AnswerNotes = {}
      const output = await call({ ...contextOf(within(envelope, span), controller.signal), notes }, parsed)
      connection.send(reply, encode({ output, ...notes }))
      span?.end()
    } catch (error) {
      span?.end(error)
      this.#refuse(reply, this.#explain(error, controller.signal, entry.name, envelope), false)
    } finally {
      watch.stop()
      callOff()
      this.#calls.delete(reply)
      this.#done(controller)
    }
  }

  async #produce(endpoint: Endpoint, request: Request, window: Grant, reply: string): Promise<void> {
    const { clock, log, inbox, pulse, connection } = this.settings
    const { entry, stream } = endpoint
    const { ctx: envelope, input } = request
    const producer = new StreamProducer({
      operation: entry.name,
      clock,
      log,
      inbox,
      pulse,
      window,
      maxPayload: connection.maxPayload,
      deadline: envelope.deadline,
      send: (frame, control) => connection.send(reply, frame, control),
      explain: (error, signal) => this.#explain(error, signal, entry.name, envelope),
    })
    this.#working.add(producer)
    const span = spanOf(entry, envelope)
    try {
      await producer.run((signal) => {
        if (!stream) throw new SvcError('malformed_request', `${entry.name} has no stream here`)
        return stream(
          contextOf(within(envelope, span), signal),
          entry.kind === 'internal' ? parseInput(entry, input) : input,
        )
      })
    } finally {
      span?.end()
      this.#done(producer)
    }
  }

  #read(message: BusMessage, reply: string): Request | undefined {
    try {
      return decode<Request>(message.data)
    } catch {
      this.#refuse(reply, new SvcError('malformed_request').toWire(), false)
      return undefined
    }
  }

  /** What the caller is told. Only our own errors carry their text; the cause of any other stays in the log. */
  #explain(error: unknown, signal: AbortSignal, operation: string, { requestId }: Envelope): ErrorWire {
    if (isSvcError(error)) return error.toWire()
    if (signal.aborted && error instanceof Error && error.name === 'AbortError') return abortedBy(signal).toWire()
    this.settings.log.error({ err: error, request_id: requestId, operation }, 'a handler failed')
    return new SvcError('internal').toWire()
  }

  #refuse(reply: string, error: ErrorWire, stream: boolean): void {
    try {
      this.settings.connection.send(reply, stream ? encode({ t: 'error', error }) : encode({ error }))
    } catch (err) {
      this.settings.log.warn({ err, code: error.code }, 'an error could not be sent to the caller')
    }
  }

  #done(work: Work): void {
    this.#working.delete(work)
    if (this.#working.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }
}
