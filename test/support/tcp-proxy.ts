import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Stands before a server on TCP or a unix socket, and takes it away and brings it back at the same address. */
export class TcpProxy {
  #server: Server | undefined
  #port = 0
  readonly #sockets = new Set<Socket>()

  private constructor(private readonly target: { host: string; port: number } | { path: string }) {}

  /** Before the server of a Postgres connection string. */
  static async before(url: string): Promise<TcpProxy> {
    const { hostname, port, searchParams } = new URL(url)
    const directory = searchParams.get('host')
    const proxy = new TcpProxy(
      directory ? { path: `${directory}/.s.PGSQL.5432` } : { host: hostname, port: Number(port || 5432) },
    )
    await proxy.open()
    return proxy
  }

  /** The same connection string, by way of the proxy. */
  through(url: string): string {
    const address = new URL(url)
    address.searchParams.delete('host')
    address.host = `127.0.0.1:${this.#port}`
    return address.href
  }

  async open(): Promise<void> {
    this.#server = createServer((socket) => this.#join(socket))
    await once(this.#server.listen(this.#port, '127.0.0.1'), 'listening')
    this.#port = (this.#server.address() as { port: number }).port
  }

  /** Breaks every connection and refuses new ones. Idempotent. */
  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (!server) return
    const closed = once(server.close(), 'close')
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #join(near: Socket): void {
    const far = connect(this.target)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  }
}
