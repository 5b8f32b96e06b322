import type { CallOf, InputOf, ItemOf, Operation, OutputOf } from '../../contract/define.js'
import type { Clock } from '../clock.js'
import { type Context, envelopeOf } from '../context.js'
import { abortedBy, hasCode, SvcError } from '../errors.js'
import type { Logger } from '../log.js'
import { callerOf, subjects } from '../subjects.js'
import { type Called, type Failure, failureOf, overrun } from './bus.errors.js'
import { type Answer, decode, encode, encodePayload, type Grant, sign } from './codec.js'
import type { BusConnection } from './connection.js'
import { defaultWindow } from './credit.js'
import { timerFor } from './deadline.js'
import { defaultPulse, Heartbeat, type Pulse } from './heartbeat.js'
import type { Inbox } from './inbox.js'
import { BusStream } from './stream.consumer.js'
import { Tail, type TailMessage } from './tail.js'

/** How long a call may take when neither the caller nor the operation says (ms). */
export const defaultTimeout = 10_000

/**
 * What a caller sends: the server parses internal operations and fills in their defaults; the input of the others was
 * parsed at the edge. An entry chosen at run time takes any input.
 */
export type SentTo<O extends Operation> = Operation extends O
  ? unknown
  : O['kind'] extends 'internal'
    ? CallOf<O>
    : InputOf<O>
export type AnswerOf<O extends Operation> = Operation extends O ? unknown : OutputOf<O>
export type ItemsOf<O extends Operation> = Operation extends O ? unknown : ItemOf<O>

export interface CallOptions {
  /** ms; the deadline of the context binds as well. */
  readonly timeout?: number
  /** The host id, for operations of `host`. */
  readonly target?: string
  /**
   * The work goes on when this process or the way to it is gone: whoever asks again under the same idempotency key hears
   * of its end. Only the signal of the context and the deadline end it.
   */
  readonly outlives?: boolean
}

export interface StreamOptions {
  readonly target?: string
  /** What the producer may have on its way. */
  readonly window?: Grant
}

export interface BusSettings {
  readonly connection: BusConnection
  readonly inbox: Inbox
  readonly clock: Clock
  readonly log: Logger
  readonly pulse?: Pulse
}

/** Commands to services, and the live tail. */
export class Bus {
  constructor(private readonly settings: BusSettings) {}

  /** Whether messages can be sent now. */
  get connected(): boolean {
    return this.settings.connection.connected
  }

  /**
   * Asks the service that owns the operation, and waits for its answer until the earliest of: the context's deadline,
   * `timeout`, the operation's own timeout (10 s unless it names one). The server of a call that is left before its
   * answer is told, and the handler's signal fires; should that message be lost, it fires at the next beat, unless the
   * work `outlives` its caller. A server whose beats stay out, for it died or hangs, ends a longer call.
   *
   * @throws SvcError the handler's own; `service_unavailable` at once when nobody serves it or the connection is lost, and when it falls silent;
   * `deadline_exceeded`; `payload_too_large`; `client_closed` (or the signal's own SvcError) when `ctx.signal` fires;
   * `internal` when this service may not ask.
   */
  call<O extends Operation>(entry: O, ctx: Context, input: SentTo<O>, options: CallOptions = {}): Promise<AnswerOf<O>> {
    const { clock, connection, inbox, pulse = defaultPulse } = this.settings
    const subject = subjects.command(entry, options.target)
    const called: Called = { service: entry.service, subject, target: options.target }
    const deadline = this.#deadline(entry, ctx, options.timeout)
    return new Promise((resolve, reject) => {
      if (ctx.signal.aborted) return reject(abortedBy(ctx.signal))
      if (deadline <= clock.now()) return reject(overrun(entry.name))
      const settle = (): void => {
        inbox.close(reply)
        callOff()
        heartbeat?.stop()
        ctx.signal.removeEventListener('abort', onAbort)
      }
      const fail = (error: unknown): void => {
        settle()
        reject(error)
      }
      const leave = (error: SvcError): void => {
        fail(error)
        this.#cancel(entry, reply, options.target)
      }
      const onAbort = (): void => leave(abortedBy(ctx.signal))
      const onMessage = (data: Uint8Array): void => {
        if (data.length === 0) {
          heartbeat?.heard()
          return
        }
        settle()
        const answer = this.#read(data, entry)
        if ('error' in answer) {
          reject(SvcError.fromWire(answer.error))
          return
        }
        if (answer.replayed && ctx.notes) ctx.notes.replayed = true
        resolve(answer.output as AnswerOf<O>)
      }
      const onFailure = (failure: Failure): void => fail(failureOf(failure, called))
      const reply = inbox.open({ subject, onMessage, onFailure })
      const callOff = timerFor(clock, deadline, () => leave(overrun(entry.name)))
      const isLong = deadline - clock.now() > pulse.silence
      const outlives = options.outlives === true
      const silent = (): void => (outlives ? fail : leave)(failureOf('silent', called))
      const heartbeat = isLong ? new Heartbeat(clock, pulse, { beat: () => undefined, silent }) : undefined
      ctx.signal.addEventListener('abort', onAbort, { once: true })
      try {
        connection.send(
          subject,
          encode({ ctx: envelopeOf({ ...ctx, deadline }), input, ...(outlives && { outlives }) }),
          reply,
        )
      } catch (error) {
        fail(this.#named(error, called))
      }
    })
  }

  /**
   * Opens a stream of the operation's items; nothing is sent before it is first read or `opened()`. It ends at the
   * context's deadline or after the operation's timeout, if there is either. Aborting `ctx.signal`, or leaving the
   * loop, cancels the producer. Errors as in `call`.
   */
  stream<O extends Operation>(
    entry: O,
    ctx: Context,
    input: SentTo<O>,
    options: StreamOptions = {},
  ): BusStream<ItemsOf<O>> {
    const { clock, connection, inbox, log, pulse = defaultPulse } = this.settings
    const window = options.window ?? defaultWindow
    const bound = Math.min(
      ctx.deadline ?? Infinity,
      entry.timeout === undefined ? Infinity : clock.now() + entry.timeout,
    )
    const deadline = bound === Infinity ? undefined : bound
    const called: Called = {
      service: entry.service,
      subject: subjects.command(entry, options.target),
      target: options.target,
    }
    return new BusStream({
      ...called,
      operation: entry.name,
      clock,
      log,
      inbox,
      pulse,
      window,
      openWithin: defaultTimeout,
      deadline,
      signal: ctx.signal,
      request: encode({
        ctx: { ...envelopeOf(ctx), ...(deadline !== undefined && { deadline }) },
        input,
        open: window,
      }),
      send: (subject, data, reply) => {
        try {
          connection.send(subject, data, reply)
        } catch (error) {
          throw this.#named(error, called)
        }
      },
    })
  }

  /**
   * Tells whoever listens. Lossy by design: answers false when the connection is down and the message is dropped.
   *
   * @throws SvcError `payload_too_large`.
   */
  publish(subject: string, payload: unknown): boolean {
    try {
      this.settings.connection.send(subject, encodePayload(payload))
      return true
    } catch (error) {
      if (hasCode(error, 'service_unavailable')) return false
      throw error
    }
  }

  /**
   * Follows a subject, wildcards allowed, without a queue group. With `receive`, answers how to stop; without, an
   * iterable that keeps at most 1,024 unread messages and drops the oldest. Messages may be missed: see `onBack`.
   */
  subscribe<T = unknown>(subject: string, receive: (message: TailMessage<T>) => void): () => void
  subscribe<T = unknown>(subject: string): Tail<T>
  subscribe<T>(subject: string, receive?: (message: TailMessage<T>) => void): (() => void) | Tail<T> {
    const { connection, log } = this.settings
    const follow = (hand: (message: TailMessage<T>) => void): (() => void) => {
      let following = true
      const subscription = connection.subscribe(subject, (message) => {
        if (following) hand({ subject: message.subject, payload: decode<T>(message.data) })
      })
      return () => {
        following = false
        subscription
          .stop()
          .catch((err: unknown) => log.debug({ err, subject }, 'a subscription ended with its connection'))
      }
    }
    return receive
      ? follow(receive)
      : new Tail<T>(follow, () => log.warn({ subject }, 'a reader of the tail is too slow'))
  }

  /** Resolves when the server knows all subscriptions made before: read the rows after that and nothing falls between. */
  async settled(): Promise<void> {
    await this.settings.connection.flush()
  }

  /** Calls back after each reconnect: messages of the tail were missed. */
  onBack(listener: () => void): void {
    this.settings.connection.onBack(listener)
  }

  #deadline(entry: Operation, ctx: Context, timeout = entry.timeout ?? defaultTimeout): number {
    return Math.min(ctx.deadline ?? Infinity, this.settings.clock.now() + timeout)
  }

  /** What can't be read is an error like any other: whoever asked must hear of it. */
  #read(data: Uint8Array, { name, service }: Operation): Answer {
    try {
      return decode<Answer>(data)
    } catch (err) {
      this.settings.log.error({ err, operation: name }, 'an answer could not be read')
      return { error: new SvcError('internal', `${service} answered what can't be read`, { service }).toWire() }
    }
  }

  /** A connection that is down means to the caller that the service is out of reach. */
  #named(error: unknown, called: Called): unknown {
    return hasCode(error, 'service_unavailable') ? failureOf('lost', called) : error
  }

  /** The address of the answer names the call; without a connection the deadline has to do. */
  #cancel({ name, service }: Operation, reply: string, target: string | undefined): void {
    try {
      this.settings.connection.send(subjects.cancel(service, callerOf(reply), target), sign, reply)
    } catch (err) {
      this.settings.log.debug({ err, operation: name }, 'a server could not be told that its caller left')
    }
  }
}
