import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Stands between a service and Redis, so that one suite can take it away without taking it from the others. */
export class RedisDoor {
  readonly #directory = mkdtempSync(join(tmpdir(), 'svc-redis-door-'))
  readonly #path = join(this.#directory, 'redis.sock')
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #silent = false

  private constructor(private readonly target: string) {}

  static async open(target: string): Promise<RedisDoor> {
    const door = new RedisDoor(target)
    await door.restore()
    return door
  }

  /** What the service is told: the socket, with the password and the database of the real address. */
  get url(): string {
    if (!this.target.startsWith('redis')) return this.#path + this.target.slice(this.target.indexOf('?'))
    const { password, pathname } = new URL(this.target)
    return `${this.#path}?db=${pathname.slice(1) || 0}${password ? `&password=${password}` : ''}`
  }

  /** Redis is gone: connections break and none can be made. */
  async cut(): Promise<void> {
    const server = this.#server as Server
    const closed = once(server, 'close')
    server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  /** Redis is there and says nothing. */
  hang(): void {
    this.#silent = true
    for (const socket of this.#sockets) socket.pause()
  }

  async restore(): Promise<void> {
    this.#silent = false
    for (const socket of this.#sockets) socket.resume()
    if (this.#server?.listening) return
    this.#server = createServer((near) => this.#join(near)).listen(this.#path)
    await once(this.#server, 'listening')
  }

  async close(): Promise<void> {
    if (this.#server?.listening) await this.cut()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #join(near: Socket): void {
    const { hostname, port } = this.target.startsWith('redis') ? new URL(this.target) : { hostname: '', port: '' }
    const far = hostname
      ? connect(Number(port || 6379), hostname)
      : connect(this.target.slice(0, this.target.indexOf('?')))
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from)
      from.on('data', (bytes) => void to.write(bytes))
      if (this.#silent) from.pause()
      from.on('error', () => undefined)
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }
}
