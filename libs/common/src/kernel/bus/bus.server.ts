import type { Operation, ServiceName } from '../../contract/define.js'
import type { ErrorCode } from '../../contract/errors.js'
import type { Clock } from '../clock.js'
import { SvcError } from '../errors.js'
import type { Logger } from '../log.js'
import { subjects } from '../subjects.js'
import type { BusConnection, BusSubscription } from './connection.js'
import { Dispatcher } from './dispatcher.js'
import { type Endpoint, endpointsOf, type FoundHandler } from './endpoints.js'
import { defaultPulse, type Pulse } from './heartbeat.js'
import type { Inbox } from './inbox.js'

export interface BusServerSettings {
  readonly service: ServiceName
  /** The contract; only the entries of this service are served. */
  readonly operations: readonly Operation[]
  /** Names of this service's operations that are served without the bus. */
  readonly except?: readonly string[]
  /** For `host`: which one. */
  readonly hostId?: string
  readonly connection: BusConnection
  readonly inbox: Inbox
  readonly clock: Clock
  readonly log: Logger
  readonly pulse?: Pulse
  /** Calls and streams at work at once; 10,000 unless named. */
  readonly capacity?: number
}

/**
 * Serves a service's operations on the bus. Replicas of a service share its commands by a queue group of its name; each
 * host has commands of its own.
 */
export class BusServer {
  readonly #dispatcher: Dispatcher
  #endpoints: readonly Endpoint[] | undefined
  #subscriptions: readonly BusSubscription[] = []
  #cancels: BusSubscription | undefined

  constructor(private readonly settings: BusServerSettings) {
    this.#dispatcher = new Dispatcher({
      pulse: defaultPulse,
      capacity: 10_000,
      ...settings,
    })
  }

  /** Whether commands are taken. */
  get listening(): boolean {
    return this.#subscriptions.length > 0
  }

  /** Calls and streams at work. */
  get working(): number {
    return this.#dispatcher.working
  }

  /**
   * States the handlers, once, before `listen`.
   *
   * @throws Error when they don't fit the contract: see `endpointsOf`.
   */
  handle(found: readonly FoundHandler[]): void {
    const { service, operations, except } = this.settings
    this.#endpoints = endpointsOf(service, operations, found, except)
  }

  /**
   * Takes commands from now on; resolves when the server has all subscriptions. Does nothing when it listens already.
   *
   * @throws Error when the bus refuses one, or no handlers were stated.
   */
  async listen(): Promise<void> {
    if (this.listening) return
    if (!this.#endpoints) throw new Error('the bus has no handlers to serve')
    const { connection, service, hostId } = this.settings
    const queue = hostId === undefined ? service : undefined
    this.#subscriptions = this.#endpoints.map((endpoint) =>
      connection.subscribe(
        subjects.command(endpoint.entry, hostId),
        (message) => this.#dispatcher.receive(endpoint, message),
        queue,
      ),
    )
    // Every replica hears of every cancel, since none but the one at work knows the call. Kept through a pause, for what
    // is in hand then.
    if (this.listening)
      this.#cancels ??= connection.subscribe(subjects.cancel(service, '*', hostId), (message) =>
        this.#dispatcher.cancel(message),
      )
    await connection.flush()
    const refused = [...this.#subscriptions, this.#cancels].find((subscription) => subscription?.refused)?.refused
    if (refused) throw refused
  }

  /**
   * Takes no more commands: callers are refused at once. What is at work goes on; streams end with `code`, so that their
   * readers come back and find the next one.
   */
  async pause(code: Extract<ErrorCode, 'service_unavailable' | 'not_leader'> = 'service_unavailable'): Promise<void> {
    const stopping = this.#subscriptions
    this.#subscriptions = []
    await Promise.all(stopping.map((subscription) => subscription.stop()))
    this.#dispatcher.abortStreams(new SvcError(code, undefined, { service: this.settings.service }))
  }

  /** Pauses and waits for what is at work; after `grace` ms its signals fire and it is given up. */
  async drain(grace = 5000): Promise<void> {
    await this.pause()
    const { clock, service, log } = this.settings
    await new Promise<void>((resolve) => {
      const callOff = clock.after(grace, () => {
        log.warn({ working: this.working }, 'commands did not finish in time')
        this.#dispatcher.abortAll(new SvcError('service_unavailable', undefined, { service }))
        resolve()
      })
      this.#dispatcher.idle().then(() => {
        callOff()
        resolve()
      }, resolve)
    })
  }
}
