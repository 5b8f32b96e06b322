import type { Entrance } from '../http/request.state.js'
import type { Server } from './http.listener.js'

/** A listener that is open. */
export interface Door {
  /** `host:port` as it was asked for. */
  readonly address: string
  readonly server: Server
  readonly entrance: Entrance
  /** Whether only programs of this machine reach it. */
  readonly isLoopback: boolean
}

/** How long requests at a door that is closed have for their answers (ms). */
export const closingTime = 1000

/** Port that a door has, also where it was asked for any free one. */
export const portOf = ({ server }: Door): number => {
  const at = server.address()
  if (at === null || typeof at === 'string') throw new Error('the door has no port')
  return at.port
}

const hostOf = ({ address }: Door): string => address.slice(0, address.lastIndexOf(':'))

/** Where clients call it; at an address that stands for all of a machine's own they call another. */
export const urlOf = (door: Door, host = hostOf(door)): string =>
  `${door.entrance.tls ? 'https' : 'http'}://${host}:${portOf(door)}`

/** The address that stands for all of the machine's own, if the door is open at that. */
export const everywhere = (door: Door): '0.0.0.0' | '[::]' | undefined => {
  const host = hostOf(door)
  return host === '0.0.0.0' || host === '[::]' ? host : undefined
}
