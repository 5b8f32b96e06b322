import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Random } from '../random.js'

/** In so many deliveries one is answered by 500, and one by nothing, the first time that it comes. */
const spoiledEvery = 40

/** A receiver at an address, which checks each delivery with the public library; its log is what it answered with 200. */
export class HookReceiver {
  /** Tags of events. */
  readonly accepted = new Set<string>()
  readonly violations: string[] = []
  requests = 0
  spoiled = 0
  /** A delivery that fails is tried again some seconds later. */
  spoils = false
  secret = ''
  readonly #seen = new Set<string>()

  private constructor(
    private readonly server: Server,
    private readonly random: Random,
  ) {}

  static async listen(random: Random): Promise<HookReceiver> {
    const server = createServer()
    const receiver = new HookReceiver(server, random)
    server.on('request', (request, response) => void receiver.#answer(request, response))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await once(this.server.close(), 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request).catch(() => undefined)
    if (body === undefined) return // whoever sent it was killed in the middle
    this.requests += 1
    const headers = request.headers as Record<string, string>
    const id = headers['webhook-id'] ?? ''
    try {
      new Webhook(this.secret).verify(body, headers)
    } catch (error) {
      this.violations.push(`the delivery ${id} to the address is not signed well: ${error}`)
    }
    const fate = this.spoils && !this.#seen.has(id) ? this.random.between(1, spoiledEvery) : spoiledEvery
    this.#seen.add(id)
    if (fate <= 2) {
      this.spoiled += 1
      if (fate === 1) response.writeHead(500).end()
      else response.destroy()
      return
    }
    const tag = /"tag":"([^"]+)"/.exec(body)?.[1]
    if (tag === undefined) this.violations.push(`the delivery ${id} to the address has no payload: ${body}`)
    else this.accepted.add(tag)
    response.writeHead(200).end()
  }
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
