import { hasCode } from '../errors.js'
import type { Failure } from './bus.errors.js'
import { sign } from './codec.js'
import type { BusConnection } from './connection.js'
import type { BusMessage } from './neighbours.js'

/** Somebody who waits for messages at an address of their own. */
export interface Waiter {
  /** What was asked; a refusal of the server names it. */
  readonly subject: string
  onMessage(data: Uint8Array, reply: string | undefined): void
  onFailure(failure: Failure): void
}

/**
 * All addresses at which this process receives answers, behind one wildcard subscription.
 *
 * A waiter hears of every failure that the connection can know of: no responder, a lost connection, a forbidden
 * publish. Only silence needs the waiter's own timer.
 */
export class Inbox {
  readonly #waiters = new Map<string, Waiter>()
  readonly #prefix: string

  private constructor(
    private readonly connection: BusConnection,
    prefix: string,
  ) {
    this.#prefix = prefix
    connection.onLost(() => this.#fail([...this.#waiters.values()], 'lost'))
    connection.onForbidden((subject) =>
      this.#fail(
        [...this.#waiters.values()].filter((waiter) => waiter.subject === subject),
        'forbidden',
      ),
    )
  }

  /**
   * @param base subject below which this service may listen; the inbox takes a random part of it.
   * @throws Error when the server refuses the subscription; the connection, of no use then, is closed.
   */
  static async open(connection: BusConnection, base: string): Promise<Inbox> {
    const prefix = `${base}.${crypto.randomUUID().replaceAll('-', '')}.`
    const inbox = new Inbox(connection, prefix)
    const subscription = connection.subscribe(`${prefix}*`, (message) => inbox.#receive(message))
    await connection.flush()
    if (!subscription.refused) return inbox
    await connection.drain()
    throw subscription.refused
  }

  /** Waiters at present; a leak would show here. */
  get size(): number {
    return this.#waiters.size
  }

  /**
   * Gives the waiter an address, which stays until `close`. Nobody can guess it: whoever was asked may answer, and none
   * of the others that may publish to this inbox.
   */
  open(waiter: Waiter): string {
    const key = crypto.randomUUID()
    this.#waiters.set(key, waiter)
    return this.#prefix + key
  }

  close(address: string): void {
    this.#waiters.delete(address.slice(this.#prefix.length))
  }

  #receive(message: BusMessage): void {
    const waiter = this.#waiters.get(message.subject.slice(this.#prefix.length))
    if (!waiter) {
      this.#disown(message)
      return
    }
    if (message.data.length === 0 && message.headers?.code === 503) waiter.onFailure('nobody')
    else waiter.onMessage(message.data, message.reply)
  }

  /** A server that still works for a call which was left, as when the connection was lost meanwhile, may stop. */
  #disown({ data, reply, headers }: BusMessage): void {
    if (reply === undefined || data.length > 0 || headers) return
    try {
      this.connection.send(reply, sign)
    } catch (error) {
      // It asks again.
      if (!hasCode(error, 'service_unavailable')) throw error
    }
  }

  #fail(waiters: readonly Waiter[], failure: Failure): void {
    for (const waiter of waiters) waiter.onFailure(failure)
  }
}
