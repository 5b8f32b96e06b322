import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'

/** Where to listen: what was asked for, and the address that it means. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  /** Whether only programs of this machine reach it. */
  readonly isLoopback: boolean
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

export const isLoopback = (address: string | undefined): boolean => {
  const family = isIP(address ?? '')
  return family !== 0 && loopback.check(address as string, family === 6 ? 'ipv6' : 'ipv4')
}

/** `host:port` in its parts; an IPv6 host without its brackets. @throws Error for any other text */
export const hostAndPort = (text: string): { host: string; port: number } => {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535) throw new Error(`${text} is not host:port`)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

/** @throws Error ENOTFOUND, EAI_AGAIN for a name that nobody knows */
export const resolveListen = async (text: string): Promise<ListenAddress> => {
  const { host, port } = hostAndPort(text)
  const address = isIP(host) ? host : (await lookup(host)).address
  return { host: address, port, isLoopback: isLoopback(address) }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'this account may not listen at ports below 1024',
  EPERM: 'this account may not listen there',
  ENOTFOUND: 'nobody knows this name',
  EAI_AGAIN: 'names can not be looked up now',
}

/** Why an address could not be listened at, for people. */
export const whyNotListening = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return reasons[code ?? ''] ?? message
}
