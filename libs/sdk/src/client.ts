import { EventStream } from './event-stream.js'
import { Namespaces } from './generated/namespaces.js'
import type { ClientOptions, RequestOptions, StreamOptions } from './options.js'
import type { Method } from './route.js'
import { Transport } from './transport.js'

/**
 * Client of the daemon: one property a namespace, and `request` for what has no typed method.
 *
 * @throws TypeError when `baseUrl` is no http address
 */
export class Client extends Namespaces {
  constructor(options: ClientOptions = {}) {
    super(new Transport(options))
  }

  /** Address that this client speaks to, without a slash at its end. */
  get baseUrl(): string {
    return this.transport.baseUrl
  }

  /**
   * Calls any route of the daemon, with the same token, retries and errors as the typed methods.
   *
   * @param path begins with a slash and carries its own query; an address of another host is refused with a TypeError,
   * since the token must not leave for it
   */
  async request<T = unknown>(method: Method, path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
    return this.transport.json<T>({ method, path: this.#localPath(path), body, ...options })
  }

  /**
   * Opens any route of the daemon that answers with server-sent events. A GET reconnects by itself after the last event;
   * another method is repeated only when it was refused outright, and throws when its connection breaks.
   */
  stream<T = unknown>(method: Method, path: string, body?: unknown, options: StreamOptions = {}): EventStream<T> {
    const { after, ...others } = options
    return new EventStream<T>({
      transport: this.transport,
      request: () => ({ method, path: this.#localPath(path), body, ...others }),
      after,
      resumes: method === 'GET',
    })
  }

  #localPath(path: string): string {
    const base = new URL(this.baseUrl)
    if (!/^\/(?![/\\])/.test(path) || new URL(this.baseUrl + path).origin !== base.origin) {
      throw new TypeError(`a path of the daemon begins with one slash: ${path}`)
    }
    return path
  }
}
