import type { NetworkInterfaceInfo } from 'node:os'
import { type Door, everywhere, urlOf } from '../listener/door.js'

/** Addresses that other machines of the network call; those of a link alone they can't name. */
const reachedAt = (interfaces: readonly NetworkInterfaceInfo[], at: '0.0.0.0' | '[::]'): string[] =>
  interfaces
    .filter(({ internal, family }) => !internal && (at === '[::]' || family === 'IPv4'))
    .filter(({ address }) => !/^fe80:/i.test(address))
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))

/** The URLs that a door is called by: one, or that of each of the machine's addresses. */
export const urlsOf = (door: Door, interfaces: readonly NetworkInterfaceInfo[]): string[] => {
  const at = everywhere(door)
  return at ? reachedAt(interfaces, at).map((host) => urlOf(door, host)) : [urlOf(door)]
}

/** The URL of a door for programs of this machine. */
export const localUrlOf = (door: Door): string => {
  const at = everywhere(door)
  return at ? urlOf(door, at === '[::]' ? '[::1]' : '127.0.0.1') : urlOf(door)
}
