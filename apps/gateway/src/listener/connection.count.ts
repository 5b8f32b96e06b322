import type { Socket } from 'node:net'
import { networkOf, plainAddress, type TrustedProxies } from '../http/client.address.js'
import { isLoopback } from './listen.address.js'

/** Open connections by the address, or network, that they came from, over all listeners of this gateway. */
export class ConnectionCount {
  readonly #open = new Map<string, number>()

  /** @param limit of one address. This machine's own programs and trusted proxies, behind which many stand, have none */
  constructor(
    private readonly limit: number,
    private readonly proxies: TrustedProxies,
  ) {}

  /** Whether the connection may stay; one that may is counted until it closes. */
  admit(socket: Socket): boolean {
    const peer = socket.remoteAddress
    if (peer === undefined || isLoopback(peer) || this.proxies.trusts(peer)) return true
    const address = networkOf(plainAddress(peer))
    const open = this.#open.get(address) ?? 0
    if (open >= this.limit) return false
    this.#open.set(address, open + 1)
    socket.once('close', () => this.#left(address))
    return true
  }

  #left(address: string): void {
    const open = (this.#open.get(address) ?? 1) - 1
    if (open > 0) this.#open.set(address, open)
    else this.#open.delete(address)
  }
}
