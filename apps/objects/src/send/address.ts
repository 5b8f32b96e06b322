import { BlockList, isIP } from 'node:net'
import { SvcError } from '#common/kernel/errors.js'

const refused = new BlockList()

/** Addresses that are nobody's on the internet: IANA's special-purpose registries, and groups of receivers. */
const ranges: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // metadata services outside of the ranges above
  ['168.63.129.16', 32],
]
for (const [net, prefix] of ranges) refused.addSubnet(net, prefix, 'ipv4')

const open = new BlockList()
// what is given to networks of the internet; everything else of IPv6 is private, special, or of no one yet
open.addSubnet('2000::', 3, 'ipv6')

const closedOfOpen = new BlockList()
const specials: readonly [string, number][] = [
  // protocols, Teredo, benchmarks, ORCHID
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4: a way to IPv4 addresses of any kind
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
]
for (const [net, prefix] of specials) closedOfOpen.addSubnet(net, prefix, 'ipv6')

/** Whether an address (as text, without brackets) is one of the public internet. */
export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address)
  if (family === 4) return !refused.check(address, 'ipv4')
  if (family !== 6 || address.includes('%')) return false
  return open.check(address, 'ipv6') && !closedOfOpen.check(address, 'ipv6')
}

/** The address that a URL names literally, in whichever spelling; undefined when it names a host. */
const literalOf = ({ hostname }: URL): string | undefined => {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) ? bare : undefined
}

/** Names that never leave this machine or its network, whatever a resolver says. */
const isLocalName = (hostname: string): boolean =>
  /(^|\.)(localhost|local|internal|localdomain|home\.arpa)$/.test(hostname.toLowerCase().replace(/\.+$/, ''))

const refusal = (what: string): SvcError =>
  new SvcError(
    'receiver_refused',
    `${what} is of this machine or of a private network, which its receiver does not allow (allow_private).`,
  )

/**
 * Refuses a URL that plainly leads to this machine or into a private network. A name may lead there too: that is looked
 * at whenever something is sent.
 *
 * @throws SvcError `receiver_refused`
 */
export const requireAllowedUrl = (url: string, allowPrivate: boolean): void => {
  if (allowPrivate) return
  const parsed = new URL(url)
  const literal = literalOf(parsed)
  if (literal === undefined ? isLocalName(parsed.hostname) : !isPublicAddress(literal)) throw refusal(parsed.hostname)
}

/**
 * The addresses that a name was resolved to, when all of them may be connected to: one alone that may not shows that the
 * name is not to be trusted.
 *
 * @throws SvcError `receiver_refused`
 */
export const requireAllowedAddresses = <A extends { readonly address: string }>(
  hostname: string,
  addresses: readonly A[],
  allowPrivate: boolean,
): readonly A[] => {
  const wrong = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address))
  if (wrong) throw refusal(`${hostname} leads to ${wrong.address}, which`)
  return addresses
}
