import { type Limit, limited } from './abort.js'
import { pause } from './clock.js'
import {
  ConnectionError,
  errorOf,
  isWorthRetrying,
  type Problem,
  ResponseError,
  SvcError,
  TimeoutError,
} from './errors.js'
import { type ErrorCode, errorCodes, errorKinds } from './generated/error-codes.js'
import { eventsOf, type ServerSentEvent } from './sse.js'
import { backoff, type Outgoing, type Transport } from './transport.js'

/** Silence in ms after which a connection counts as dead; the daemon sends a heartbeat every 10 s. */
const longestSilence = 30_000
const retriesInARow = 10

export interface StreamSource {
  readonly transport: Transport
  /** The request that opens the stream. @throws TypeError for an identifier that isn't one */
  readonly request: () => Outgoing
  readonly after?: string | undefined
  /** Whether a connection that broke is made anew, from the last id; else the failure is thrown. */
  readonly resumes: boolean
  /** Whether each connection begins with all that is owed: then its ids go back, and what comes again is given again. */
  readonly replays?: boolean
}

/**
 * Items of a stream of events. It connects when it is iterated, reconnects by itself after the last event that it gave,
 * gives each event once (unless it replays what is owed), and ends when the daemon says so (one that merely restarts is waited for). Leaving the loop closes the connection.
 *
 * Iterating throws an error of the daemon that trying again won't help; the last failure after `maxRetries` failed
 * connections in a row; and the signal's reason once it is aborted.
 */
export class EventStream<T> implements AsyncIterable<T> {
  readonly #source: StreamSource
  #lastId: string | undefined
  #ended: Readonly<Record<string, unknown>> | undefined

  constructor(source: StreamSource) {
    this.#source = source
    this.#lastId = source.after
  }

  /** Id of the last event given; a new stream goes on from there when it is given as `after`. */
  get lastEventId(): string | undefined {
    return this.#lastId
  }

  /** What the daemon's last event said, with its `reason`; undefined before the end. */
  get ended(): Readonly<Record<string, unknown>> | undefined {
    return this.#ended
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const request = this.#source.request()
    const usual = this.#source.resumes ? retriesInARow : 2
    const allowed = request.maxRetries ?? this.#source.transport.maxRetries ?? usual
    let failures = 0
    for (;;) {
      const connection = limited(request.signal)
      const watch = watchSilence(connection)
      let failure: unknown = new ConnectionError('the stream broke off before its end')
      let answered = false
      try {
        const body = await this.#open(request, connection)
        for await (const event of eventsOf(body, watch.heard)) {
          answered = true
          failures = 0
          if (event.name === 'end') {
            const said = parsed(event) as Readonly<Record<string, unknown>>
            if (said.reason === 'draining') break
            const refused = refusalIn(said)
            if (refused) throw refused
            this.#ended = said
            return
          }
          if (event.name === 'overflow') break
          if (event.name === 'error') throw errorOfEvent(event)
          if (!this.#isNew(event)) continue
          if (event.data === '') {
            this.#moveTo(event.id)
            continue
          }
          const item = parsed(event) as T
          this.#moveTo(event.id)
          watch.hold()
          yield item
          watch.heard()
        }
      } catch (error) {
        failure = connection.signal.aborted ? connection.signal.reason : error
      } finally {
        watch.release()
        connection.release()
      }
      if (request.signal?.aborted) throw request.signal.reason
      failures += 1
      if (failures > allowed || !this.#mayRepeat(failure, answered)) throw failure
      await pause((failure as SvcError).retryAfter ?? backoff(failures), request.signal)
    }
  }

  #open(request: Outgoing, connection: Limit): Promise<ReadableStream<Uint8Array>> {
    const { replays, after } = this.#source
    const from = replays && after === undefined ? undefined : this.#lastId
    const resume: Record<string, string> = from === undefined ? {} : { 'last-event-id': from }
    return this.#source.transport.open({ ...request, headers: { ...request.headers, ...resume } }, connection)
  }

  /** A durable event's id is a number that only grows; deltas carry other ids, and snapshots repeat one on purpose. */
  #isNew({ id, name }: ServerSentEvent): boolean {
    if (this.#source.replays || id === undefined || !/^\d+$/.test(id) || /(^|\.)snapshot$/.test(name)) return true
    return this.#isAhead(id)
  }

  #isAhead(id: string): boolean {
    const last = /^\d+/.exec(this.#lastId ?? '')?.[0]
    return last === undefined || BigInt(id) > BigInt(last)
  }

  /** Never back to where what is replayed stands. */
  #moveTo(id: string | undefined): void {
    if (id !== undefined && (!this.#source.replays || this.#isAhead(id))) this.#lastId = id
  }

  /** A request that can't be resumed is repeated only when it was refused outright. */
  #mayRepeat(failure: unknown, answered: boolean): boolean {
    if (!isWorthRetrying(failure) && !(failure instanceof TimeoutError)) return false
    return this.#source.resumes || (!answered && failure.status > 0)
  }
}

const watchSilence = (connection: Limit) => {
  let quiet = 0
  let held = false
  const timer = setInterval(() => {
    if (!held) quiet += 1
    if (quiet >= 2) connection.abort(new ConnectionError(`nothing came for ${longestSilence / 1000} s`))
  }, longestSilence / 2)
  return {
    heard: () => {
      quiet = 0
      held = false
    },
    /** The caller is busy with an event: that nothing is read meanwhile is no silence. */
    hold: () => {
      held = true
    },
    release: () => clearInterval(timer),
  }
}

const parsed = (event: ServerSentEvent): unknown => {
  try {
    return JSON.parse(event.data)
  } catch (cause) {
    throw new ResponseError(`the event ${event.name} is not JSON`, 200, { cause })
  }
}

/** A stream whose token or grant ended meanwhile ends as its next request would. */
const refusalIn = (said: Readonly<Record<string, unknown>>): SvcError | undefined => {
  const code = String(said.reason)
  const kind = Object.hasOwn(errorCodes, code) ? errorCodes[code as ErrorCode].kind : undefined
  return kind === 'unauthenticated' || kind === 'forbidden'
    ? errorOf(errorKinds[kind], { ...said, code, title: 'the stream was ended' })
    : undefined
}

const errorOfEvent = (event: ServerSentEvent): SvcError => {
  const problem = parsed(event) as Problem
  return errorOf(typeof problem.status === 'number' ? problem.status : 500, problem)
}
