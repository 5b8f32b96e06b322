import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { TrustedProxies } from '../http/client.address.js'
import { type Entrance, markRequest, type RequestState } from '../http/request.state.js'
import { SseClients } from '../stream/sse.clients.js'
import { listenSocket, listenTcp } from './http.listener.js'

/** How long requests in hand have to finish (ms) before they are given up. */
const drainWithin = 10_000

export type Route = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The doors of the gateway: the owner's address and socket, and the application's address, all in front of one router.
 *
 * Draining: no new connections, streams end with `draining`, requests in hand finish, connections close.
 */
@Injectable()
export class GatewayListeners implements OnModuleDestroy, OnApplicationShutdown {
  readonly #servers: Server[] = []
  readonly #inHand = new Set<RequestState>()
  readonly #proxies: TrustedProxies
  #draining = false
  #idle: (() => void) | undefined

  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
    @Inject(SseClients) private readonly streams: SseClients,
  ) {
    this.#proxies = new TrustedProxies(settings.SVC_TRUSTED_PROXIES)
  }

  get draining(): boolean {
    return this.#draining
  }

  get requestsInHand(): number {
    return this.#inHand.size
  }

  get socketPath(): string {
    return join(this.settings.SVC_DATA_DIR, 'run', 'owner.sock')
  }

  /** Base URLs of the two listeners, with the ports that they really have. */
  get addresses(): { owner: string; app: string } {
    const [owner, app] = this.#servers.map((server) => server.address() as AddressInfo)
    const url = ({ address, port, family }: AddressInfo): string =>
      `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
    if (!owner || !app) throw new Error('the gateway does not listen yet')
    return { owner: url(owner), app: url(app) }
  }

  /** Opens all doors, or none. @throws Error when an address is taken */
  async open(route: Route): Promise<void> {
    const serve = (request: IncomingMessage, response: ServerResponse, entrance: Entrance): void =>
      this.#serve(route, request, response, entrance)
    try {
      this.#servers.push(
        await listenTcp(this.settings.SVC_OWNER_LISTEN, { listener: 'owner', socket: false, tls: false }, serve),
      )
      this.#servers.push(
        await listenTcp(this.settings.SVC_APP_LISTEN, { listener: 'app', socket: false, tls: false }, serve),
      )
      this.#servers.push(await listenSocket(this.socketPath, { listener: 'owner', socket: true, tls: false }, serve))
    } catch (error) {
      for (const server of this.#servers.splice(0)) server.close()
      throw error
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.#draining = true
    for (const server of this.#servers) server.close()
    this.streams.endAll('draining')
    this.#giveUp(({ held }) => held === true)
    await this.#drained()
    for (const server of this.#servers) server.closeAllConnections()
  }

  onApplicationShutdown(): void {
    for (const server of this.#servers) server.closeAllConnections()
  }

  #serve(route: Route, request: IncomingMessage, response: ServerResponse, entrance: Entrance): void {
    const gone = new AbortController()
    const state: RequestState = { entrance, gone, ...this.#proxies.callerOf(request, entrance.tls) }
    this.#inHand.add(state)
    response.once('close', () => {
      this.#inHand.delete(state)
      if (!response.writableFinished) gone.abort(new SvcError('client_closed'))
      if (this.#inHand.size === 0) this.#idle?.()
    })
    markRequest(request, state)
    route(request, response)
  }

  #giveUp(which: (state: RequestState) => boolean): void {
    for (const state of this.#inHand) {
      if (which(state)) state.gone.abort(new SvcError('service_unavailable', 'The gateway is going down.'))
    }
  }

  async #drained(): Promise<void> {
    if (this.#inHand.size === 0) return
    await new Promise<void>((resolve) => {
      const callOff = this.clock.after(drainWithin, () => {
        this.log.warn({ requests: this.#inHand.size }, 'requests did not finish in time')
        this.#giveUp(() => true)
        resolve()
      })
      this.#idle = () => {
        callOff()
        resolve()
      }
    })
  }
}
