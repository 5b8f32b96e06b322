import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common'
import type { Listener } from '#common/contract/define.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { baseUrlOf, SETTINGS, type Settings } from '#common/kernel/config.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { TrustedProxies } from '../http/client.address.js'
import { type Entrance, markRequest, type RequestState } from '../http/request.state.js'
import { takeOriginForm } from '../http/request.target.js'
import { SseClients } from '../stream/sse.clients.js'
import { ConnectionCount } from './connection.count.js'
import { type Door, urlOf } from './door.js'
import { type ListenerOptions, listenSocket, listenTcp, type Server } from './http.listener.js'
import { resolveListen } from './listen.address.js'
import { OwnerDoors } from './owner.doors.js'
import { TlsIdentity } from './tls.identity.js'

/** How long requests in hand have to finish (ms) before they are given up. */
const drainWithin = 10_000

export type Route = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The doors of the gateway: the owner's address and socket, the application's address, and what the owner opened besides,
 * all in front of one router. Doors that others than this machine reach serve TLS where a certificate is named.
 *
 * Draining: no new connections, streams end with `draining`, requests in hand finish, connections close.
 */
@Injectable()
export class GatewayListeners implements OnModuleDestroy, OnApplicationShutdown {
  /** Those that the owner opens and closes while the daemon runs. */
  readonly further: OwnerDoors
  #doors: readonly Door[] = []
  #socket: Server | undefined
  readonly #inHand = new Set<RequestState>()
  readonly #proxies: TrustedProxies
  readonly #count: ConnectionCount
  #route: Route | undefined
  #draining = false
  #idle: (() => void) | undefined

  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
    @Inject(SseClients) private readonly streams: SseClients,
    @Inject(TlsIdentity) private readonly tls: TlsIdentity | null,
  ) {
    this.#proxies = new TrustedProxies(settings.SVC_TRUSTED_PROXIES)
    this.#count = new ConnectionCount(settings.SVC_CONNECTIONS_PER_ADDRESS, this.#proxies)
    this.further = new OwnerDoors({ openAt: (address) => this.#openAt(address, 'owner'), clock, log })
  }

  get draining(): boolean {
    return this.#draining
  }

  get requestsInHand(): number {
    return this.#inHand.size
  }

  /** Requests that must end when they are no longer permitted. */
  lastingRequests(): readonly RequestState[] {
    return [...this.#inHand].filter(({ lasts }) => lasts === true)
  }

  get socketPath(): string {
    return join(this.settings.SVC_DATA_DIR, 'run', 'owner.sock')
  }

  /** The two doors that are always there. @throws Error before they are */
  get main(): { owner: Door; app: Door } {
    const [owner, app] = this.#doors
    if (!owner || !app) throw new Error('the gateway does not listen yet')
    return { owner, app }
  }

  /** Base URLs of the two listeners, with the ports that they really have. */
  get addresses(): { owner: string; app: string } {
    const { owner, app } = this.main
    return { owner: urlOf(owner), app: urlOf(app) }
  }

  /** Opens the doors that are always there, or none. @throws Error when an address is taken, or would be of no use */
  async open(route: Route): Promise<void> {
    this.#route = route
    const opened: Door[] = []
    try {
      opened.push(await this.#openAt(this.settings.SVC_OWNER_LISTEN, 'owner'))
      opened.push(await this.#openAt(this.settings.SVC_APP_LISTEN, 'app'))
      this.#requireReachable(opened[0] as Door)
      this.#socket = await listenSocket(
        this.socketPath,
        this.#optionsOf({ listener: 'owner', socket: true, tls: false }),
      )
      this.#doors = opened
    } catch (error) {
      for (const { server } of opened) server.close()
      throw error
    }
  }

  /** Takes up a certificate that was replaced. */
  refreshTls(): void {
    if (!this.tls) return
    const before = this.tls.fault
    const isNew = this.tls.refresh()
    if (isNew) {
      for (const { server, entrance } of [...this.#doors, ...this.further.all]) {
        if (entrance.tls && 'setSecureContext' in server) server.setSecureContext(this.tls.material)
      }
      this.log.info('the certificate was replaced')
    } else if (this.tls.fault !== before) {
      this.log.warn({ why: this.tls.fault }, 'the files of the certificate can not be used; the earlier one is served')
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.#draining = true
    this.further.shut()
    for (const server of this.#servers) server.close()
    this.streams.endAll('draining')
    this.#giveUp(({ held }) => held === true)
    await this.#drained()
    this.onApplicationShutdown()
  }

  onApplicationShutdown(): void {
    this.further.cutOff()
    for (const server of this.#servers) server.closeAllConnections()
  }

  get #servers(): Server[] {
    return [...this.#doors.map(({ server }) => server), ...(this.#socket ? [this.#socket] : [])]
  }

  async #openAt(address: string, listener: Listener): Promise<Door> {
    const at = await resolveListen(address)
    const entrance: Entrance = { listener, socket: false, tls: this.tls !== null && !at.isLoopback }
    if (!at.isLoopback && !entrance.tls) {
      this.log.warn({ address }, 'tokens and data cross the network unencrypted at this address: name a certificate')
    }
    const server = await listenTcp(at, this.#optionsOf(entrance))
    return { address, server, entrance, isLoopback: at.isLoopback }
  }

  #optionsOf(entrance: Entrance): ListenerOptions {
    return {
      entrance,
      serve: (request, response) => this.#serve(request, response, entrance),
      clock: this.clock,
      tls: entrance.tls ? this.tls?.material : undefined,
      admit: (socket) => this.#count.admit(socket),
    }
  }

  /** Brokers and commands call the owner's first address: TLS there is of no use unless they are told a name that it is for. */
  #requireReachable({ address, entrance }: Door): void {
    const told = baseUrlOf(this.settings)
    if (!entrance.tls || told.startsWith('https://')) return
    throw new Error(
      `SVC_OWNER_LISTEN=${address} would serve TLS, while nodes and commands are told ${told}. Leave it at 127.0.0.1 and ` +
        'open the other address with `svc sys connect --listen`, or set SVC_BASE_URL to the https:// name of the certificate.',
    )
  }

  #serve(request: IncomingMessage, response: ServerResponse, entrance: Entrance): void {
    const gone = new AbortController()
    const target = takeOriginForm(request)
    const caller = this.#proxies.callerOf(request, entrance.tls)
    const hosts = target === undefined ? caller.hosts : [...caller.hosts, target]
    const state: RequestState = { ...caller, hosts, entrance, gone }
    this.#inHand.add(state)
    response.once('close', () => {
      this.#inHand.delete(state)
      if (!response.writableFinished) gone.abort(new SvcError('client_closed'))
      if (this.#inHand.size === 0) this.#idle?.()
    })
    markRequest(request, state)
    this.#route?.(request, response)
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
