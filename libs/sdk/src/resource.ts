import { EventStream, type StreamSource } from './event-stream.js'
import { Feed } from './feed.js'
import { type RouteName, routes } from './generated/routes.js'
import type { ReceiveOptions, RequestOptions, StreamOptions } from './options.js'
import { type Page, PageList } from './page.js'
import { pathOf, queryString, type Route } from './route.js'
import type { Outgoing, Transport } from './transport.js'

/** What a long poll adds to its wait, in ms, before the client gives the daemon up. */
const waitMargin = 10_000

/** Routes that work as long as their body's `timeout` says (ms), with what holds when it doesn't. */
const workTimes: Readonly<Partial<Record<RouteName, number>>> = { 'bash.run': 120_000 }
/** The longest that a wait for a status is held, in ms. */
const heldWait = 60_000

const workTimeOf = (name: RouteName, body: unknown): number | undefined => {
  if (name === 'nodes.wait') return heldWait
  const usual = workTimes[name]
  const own = (body as { timeout?: unknown } | undefined)?.timeout
  return usual !== undefined && typeof own === 'number' ? own : usual
}

interface Arguments<Options> {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object | undefined
  readonly body?: unknown
  readonly options?: Options | undefined
}

/** Base of every namespace: how its methods become requests. */
export abstract class Resource {
  protected readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  protected async call<T>(name: RouteName, given: Arguments<RequestOptions>): Promise<T> {
    return this.transport.json<T>(outgoing(name, given, this.#timeoutOf(name, given)))
  }

  protected listed<T>(name: RouteName, given: Arguments<RequestOptions>): PageList<T> {
    return new PageList<T>((after) => {
      const query = after === undefined ? given.query : { ...given.query, after }
      return this.call<Page<T>>(name, { ...given, query })
    })
  }

  protected streamed<T>(name: RouteName, given: Arguments<StreamOptions>): EventStream<T> {
    return new EventStream<T>(this.#source(name, given))
  }

  /** A stream that begins with all that is owed, whenever it connects. */
  protected received<T>(name: RouteName, given: Arguments<ReceiveOptions>): EventStream<T> {
    const { after, ...options } = given.options ?? {}
    return new EventStream<T>({
      ...this.#source(name, { ...given, options }),
      after: after === undefined ? undefined : String(after),
      replays: true,
    })
  }

  protected fed<T>(name: RouteName, given: Arguments<StreamOptions>): Feed<T> {
    const after = given.options?.after
    const query = after === undefined ? given.query : { ...given.query, after }
    return new Feed<T>(this.#source(name, given), () => this.listed<T>(name, { ...given, query }))
  }

  #source(name: RouteName, given: Arguments<StreamOptions>): StreamSource {
    const { after, ...query } = { ...given.query } as { after?: string }
    return {
      transport: this.transport,
      request: () => outgoing(name, { ...given, query }),
      after: given.options?.after ?? after,
      resumes: true,
    }
  }

  #timeoutOf(name: RouteName, { query, body, options }: Arguments<RequestOptions>): number | undefined {
    const wait = (query as { wait?: unknown } | undefined)?.wait
    const works = typeof wait === 'number' ? wait * 1000 : workTimeOf(name, body)
    if (options?.timeout !== undefined || works === undefined) return options?.timeout
    return Math.max(this.transport.timeout, works + waitMargin)
  }
}

const outgoing = (name: RouteName, given: Arguments<RequestOptions>, timeout?: number): Outgoing => {
  const route: Route = routes[name]
  const { headers, signal, maxRetries } = given.options ?? {}
  return {
    method: route.method,
    path: pathOf(route, given.params) + queryString(given.query),
    body: given.body,
    headers,
    signal,
    timeout,
    maxRetries,
  }
}
