import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { closingTime, type Door } from './door.js'
import { whyNotListening } from './listen.address.js'

/** A listener that is wanted: open, or why it isn't. */
export type DoorState =
  | { readonly address: string; readonly door: Door }
  | { readonly address: string; readonly why: string }

export interface OwnerDoorsOptions {
  readonly openAt: (address: string) => Promise<Door>
  readonly clock: Clock
  readonly log: Logger
}

/** The owner's further listeners, which come and go while the daemon runs. Its methods are called one after the other. */
export class OwnerDoors {
  readonly #open = new Map<string, Door>()
  readonly #failed = new Map<string, string>()
  #shut = false

  constructor(private readonly options: OwnerDoorsOptions) {}

  get all(): Door[] {
    return [...this.#open.values()]
  }

  /** In the order of the addresses. */
  states(addresses: readonly string[]): DoorState[] {
    return addresses.map((address) => {
      const door = this.#open.get(address)
      return door ? { address, door } : { address, why: this.#failed.get(address) ?? 'it is not open yet' }
    })
  }

  /** Opens all of them, or none. @throws SvcError `address_unavailable` */
  async open(addresses: readonly string[]): Promise<void> {
    const opened: string[] = []
    for (const address of addresses) {
      if (this.#open.has(address)) continue
      const why = await this.#tryOpen(address)
      if (why !== undefined) {
        for (const other of opened) this.#close(other)
        throw new SvcError('address_unavailable', `The daemon can't listen at ${address}: ${why}.`, { address })
      }
      opened.push(address)
    }
  }

  /** Opens those that are missing, as far as they can be, and closes every other. */
  async keep(addresses: readonly string[]): Promise<void> {
    for (const address of [...this.#open.keys()]) if (!addresses.includes(address)) this.#close(address)
    for (const address of [...this.#failed.keys()]) if (!addresses.includes(address)) this.#failed.delete(address)
    for (const address of addresses) {
      if (this.#open.has(address)) continue
      const known = this.#failed.get(address)
      const why = await this.#tryOpen(address)
      if (why !== undefined && why !== known)
        this.options.log.warn({ address, why }, 'an address can not be listened at')
    }
  }

  /** Nothing opens any more. Connections stay, for the answers that are under way. */
  shut(): void {
    this.#shut = true
    for (const { server } of this.#open.values()) server.close()
  }

  cutOff(): void {
    for (const { server } of this.#open.values()) server.closeAllConnections()
  }

  /** @returns why it could not be opened. */
  async #tryOpen(address: string): Promise<string | undefined> {
    if (this.#shut) return 'the daemon is going down'
    try {
      const door = await this.options.openAt(address)
      this.#failed.delete(address)
      this.#open.set(address, door)
      if (this.#shut) this.#close(address)
      else this.options.log.info({ address, tls: door.entrance.tls }, "the owner's listener is open at another address")
      return undefined
    } catch (error) {
      const why = whyNotListening(error)
      this.#failed.set(address, why)
      return why
    }
  }

  #close(address: string): void {
    const door = this.#open.get(address)
    if (!door) return
    this.#open.delete(address)
    door.entrance.closing = true
    door.server.close()
    this.options.clock.after(closingTime, () => door.server.closeAllConnections())
    this.options.log.info({ address }, "the owner's listener is closed at an address")
  }
}
