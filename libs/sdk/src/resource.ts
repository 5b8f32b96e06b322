import { EventStream, type StreamSource } from './event-stream.js'
import { Feed } from './feed.js'
import { type RouteName, routes } from './generated/routes.js'
import type { RequestOptions, StreamOptions } from './options.js'
import { type Page, PageList } from './page.js'
import { pathOf, queryString, type Route } from './route.js'
import type { Outgoing, Transport } from './transport.js'

/** What a long poll adds to its wait, in ms, before the client gives the daemon up. */
const waitMargin = 10_000

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
    return this.transport.json<T>(outgoing(name, given, this.#timeoutOf(given)))
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

  #timeoutOf({ query, options }: Arguments<RequestOptions>): number | undefined {
    const wait = (query as { wait?: unknown } | undefined)?.wait
    if (options?.timeout !== undefined || typeof wait !== 'number') return options?.timeout
    return Math.max(this.transport.timeout, wait * 1000 + waitMargin)
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
