import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'

/** Who asks, from where, and by which name, as far as those in between are believed. */
export interface Caller {
  /** The client's address; null at the owner's socket, where there is none. */
  readonly remote: string | null
  /** Whether the client's own connection is encrypted. */
  readonly secure: boolean
  /** The names by which this daemon was called, each of which must be one of its own. */
  readonly hosts: readonly string[]
}

/** An IPv4 address that came in through an IPv6 socket, as itself. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** One who has an IPv6 address has 2^64 of them. */
export const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.toLowerCase().split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail ? tail.split(':') : []
  const groups = tail === undefined ? front : [...front, ...Array(8 - front.length - back.length).fill('0'), ...back]
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** Values of a header that proxies append to, the nearest proxy's last. */
const listed = (header: string | string[] | undefined): string[] =>
  String(header ?? '')
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '')

/** Every Host header of a request: the parser itself leaves all but one out. */
export const hostHeadersOf = ({ rawHeaders }: IncomingMessage): string[] =>
  rawHeaders.filter((_value, at) => at % 2 === 1 && /^host$/i.test(rawHeaders[at - 1] as string))

/** Addresses of proxies whose word is taken for who stands behind them; nobody's is unless the owner named it. */
export class TrustedProxies {
  readonly #ranges = new BlockList()

  /** @param list addresses and ranges (`10.0.0.0/8`) with commas between, as the settings checked them */
  constructor(list: string | undefined) {
    for (const range of listed(list)) {
      const [address = '', bits] = range.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#ranges.addAddress(address, family)
      else this.#ranges.addSubnet(address, Number(bits), family)
    }
  }

  trusts(address: string | undefined): boolean {
    const family = isIP(address ?? '')
    return family !== 0 && this.#ranges.check(address as string, family === 6 ? 'ipv6' : 'ipv4')
  }

  /** What `X-Forwarded-For`, `-Proto` and `-Host` say is believed of a trusted proxy, and of no one else. */
  callerOf(request: IncomingMessage, encrypted: boolean): Caller {
    const { socket, headers } = request
    const peer = socket.remoteAddress
    const hosts = hostHeadersOf(request)
    if (!this.trusts(peer)) return { remote: peer === undefined ? null : plainAddress(peer), secure: encrypted, hosts }
    const proto = listed(headers['x-forwarded-proto']).at(-1)
    return {
      remote: plainAddress(this.#clientOf(peer as string, listed(headers['x-forwarded-for']))),
      secure: proto === undefined ? encrypted : proto.toLowerCase() === 'https',
      hosts: [...hosts, ...listed(headers['x-forwarded-host'])],
    }
  }

  /** From the nearest proxy outwards, the first that isn't one of ours: what stands before it anybody may have written. */
  #clientOf(peer: string, forwarded: readonly string[]): string {
    let client = peer
    for (const address of forwarded.toReversed()) {
      if (isIP(address) === 0) return client
      client = address
      if (!this.trusts(address)) return client
    }
    return client
  }
}
