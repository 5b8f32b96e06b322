import {
  AuthorizationError,
  type ConnectionOptions,
  connect,
  type NatsConnection,
  PermissionViolationError,
  type Status,
} from '@nats-io/transport-node'
import type { ServiceName } from '../../contract/define.js'
import { backoff, type Clock, pause } from '../clock.js'
import type { Logger } from '../log.js'
import { tooLarge, unavailable } from './bus.errors.js'
import type { BusMessage, Neighbours } from './neighbours.js'

export interface ConnectionSettings {
  /** `nats://user:password@host:port`; several servers of one cluster separated by commas. */
  readonly url: string
  /** Shows in the server's list of connections. */
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
  /** Ends the attempts to connect for the first time. */
  readonly signal?: AbortSignal
  /** The services that run in this process, and which of them this one is. */
  readonly near?: { readonly service: ServiceName; readonly neighbours: Neighbours }
}

interface Outgoing {
  readonly subject: string
  readonly data: Uint8Array
  readonly reply: string | undefined
}

/** What waits for the end of a turn goes out before it when it is more than this (bytes). */
const atOnce = 64 * 1024

export interface BusSubscription {
  /** Set when the server refused it. */
  readonly refused: Error | undefined
  /** Stops new messages at the server; resolves when those that were on their way have been handed over. */
  stop(): Promise<void>
}

const optionsOf = ({ url, name }: ConnectionSettings): ConnectionOptions => {
  const servers = url.split(',').map((one) => new URL(one))
  const [{ username, password } = { username: '', password: '' }] = servers
  return {
    servers: servers.map(({ hostname, port }) => `${hostname}:${port || 4222}`),
    ...(username && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    name,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => 50 + Math.random() * 450,
    pingInterval: 10_000,
    maxPingOut: 2,
    noAsyncTraces: true,
  }
}

/**
 * One connection to NATS, kept for ever: after a loss it connects again by itself, with jitter.
 *
 * What is sent while it is down is not kept for later. Whoever waits for an answer is told of a loss at once.
 */
export class BusConnection {
  readonly #lost = new Set<() => void>()
  readonly #back = new Set<() => void>()
  readonly #forbidden = new Set<(subject: string) => void>()
  /** Leaves the neighbours, a subscription each. */
  readonly #leaves = new Set<() => void>()
  #connected = true
  #waiting: Outgoing[] = []
  #waitingBytes = 0

  private constructor(
    private readonly nats: NatsConnection,
    private readonly log: Logger,
    private readonly near: ConnectionSettings['near'],
  ) {
    this.#follow().catch((err: unknown) => log.error({ err }, 'the state of the bus is no longer followed'))
  }

  /**
   * Connects, trying until a server is there.
   *
   * @throws AuthorizationError when the server refuses the user: waiting can't mend that.
   */
  static async open(settings: ConnectionSettings): Promise<BusConnection> {
    const { clock, log, signal, near } = settings
    for (let attempt = 0; ; attempt += 1) {
      signal?.throwIfAborted()
      try {
        return new BusConnection(await connect({ ...optionsOf(settings), timeout: 5000 }), log, near)
      } catch (err) {
        if (err instanceof AuthorizationError) throw err
        log[attempt === 0 ? 'warn' : 'debug']({ err }, 'the bus is not there yet')
        await pause(clock, 50 + backoff(attempt, 50, 2000), signal)
      }
    }
  }

  /** Whether messages can be sent now; readiness asks for it. */
  get connected(): boolean {
    return this.#connected
  }

  /** Bytes that one message may carry. */
  get maxPayload(): number {
    return this.nats.info?.max_payload ?? 1024 * 1024
  }

  /**
   * Sends with all else that this turn of the event loop sends, or not at all: a system call costs more than a message.
   *
   * @throws SvcError `service_unavailable` while the connection is down, `payload_too_large` above the server's limit.
   */
  send(subject: string, data: Uint8Array, reply?: string): void {
    if (!this.#connected) throw unavailable('bus', 'not connected')
    if (this.nats.isClosed()) throw unavailable('bus', 'closed')
    if (data.length > this.maxPayload) throw tooLarge(data.length, this.maxPayload)
    if (this.near?.neighbours.hand(this.near.service, { subject, data, reply })) return
    this.#waiting.push({ subject, data, reply })
    this.#waitingBytes += data.length
    if (this.#waitingBytes > atOnce) this.#sendWaiting()
    else if (this.#waiting.length === 1) setImmediate(() => this.#sendWaiting())
  }

  #sendWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    // Lost in the same turn: whoever waits for an answer hears of that, and nothing is kept for later.
    if (!this.#connected) return
    for (const { subject, data, reply } of waiting) {
      try {
        this.nats.publish(subject, data, reply === undefined ? undefined : { reply })
      } catch (err) {
        this.log.warn({ err, subject }, 'a message was not sent')
      }
    }
  }

  /** Hands each message to `receive`, across reconnects. A throw of `receive` is logged and harms nothing else. */
  subscribe(subject: string, receive: (message: BusMessage) => void, queue?: string): BusSubscription {
    let refused: Error | undefined
    const take = (message: BusMessage): void => {
      try {
        receive(message)
      } catch (err) {
        this.log.error({ err, subject: message.subject }, 'a message from the bus could not be handled')
      }
    }
    const subscription = this.nats.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => {
        if (error) {
          refused = error
          this.log.error({ err: error, subject }, 'the bus refuses a subscription')
          return
        }
        take(message)
      },
    })
    // Commands and answers have one receiver each; what many may follow goes to all of them by the server.
    const single = queue !== undefined || subject.startsWith('svc.inbox.')
    const leave = single ? this.near?.neighbours.join(subject, take) : undefined
    if (leave) this.#leaves.add(leave)
    return {
      get refused() {
        return refused
      },
      stop: async () => {
        leave?.()
        if (leave) this.#leaves.delete(leave)
        if (!subscription.isClosed() && !this.nats.isClosed()) await subscription.drain()
      },
    }
  }

  /** Resolves when the server has processed all that was sent before. */
  async flush(): Promise<void> {
    this.#sendWaiting()
    await this.nats.flush()
  }

  /** Calls back when the connection is lost, as often as that happens. */
  onLost(listener: () => void): void {
    this.#lost.add(listener)
  }

  /** Calls back when it is there again after a loss, subscriptions restored. */
  onBack(listener: () => void): void {
    this.#back.add(listener)
  }

  /** Calls back with the subject of each message that permissions forbade. */
  onForbidden(listener: (subject: string) => void): void {
    this.#forbidden.add(listener)
  }

  /** Sends what is under way and closes. */
  async drain(): Promise<void> {
    if (this.nats.isClosed() || this.nats.isDraining()) return
    for (const leave of this.#leaves) leave()
    this.#leaves.clear()
    this.#sendWaiting()
    if (this.#connected) await this.nats.drain()
    else await this.nats.close()
    this.#connected = false
  }

  async #follow(): Promise<void> {
    for await (const status of this.nats.status()) this.#note(status)
  }

  #note(status: Status): void {
    if (status.type === 'disconnect') {
      this.#connected = false
      this.log.warn('the bus is gone')
      for (const listener of this.#lost) listener()
    } else if (status.type === 'reconnect') {
      this.#connected = true
      this.log.info('the bus is back')
      for (const listener of this.#back) listener()
    } else if (status.type === 'close') {
      this.#connected = false
      for (const listener of this.#lost) listener()
    } else if (status.type === 'error') {
      this.log.error({ err: status.error }, 'the bus reports an error')
      if (status.error instanceof PermissionViolationError && status.error.operation === 'publish') {
        for (const listener of this.#forbidden) listener(status.error.subject)
      }
    }
  }
}
