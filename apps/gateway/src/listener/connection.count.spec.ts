import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { TrustedProxies } from '../http/client.address.js'
import { ConnectionCount } from './connection.count.js'

const from = (remoteAddress: string): Socket => Object.assign(new EventEmitter(), { remoteAddress }) as Socket

const counted = () => new ConnectionCount(2, new TrustedProxies('10.0.0.0/8'))

const admitted = (count: ConnectionCount, address: string, times: number): number =>
  Array.from({ length: times }, () => count.admit(from(address))).filter(Boolean).length

describe('connections of one address', () => {
  it('are limited, however the address is written', () => {
    const count = counted()
    expect(admitted(count, '203.0.113.9', 1) + admitted(count, '::ffff:203.0.113.9', 4)).toBe(2)
    expect(admitted(count, '203.0.113.10', 3)).toBe(2)
  })

  // One who has an IPv6 address has 2^64 of them: each was counted by itself.
  it('are limited over all that one network has', () => {
    const count = counted()
    expect(admitted(count, '2001:db8::1', 1) + admitted(count, '2001:db8::2', 4)).toBe(2)
    expect(admitted(count, '2001:db8:0:1::1', 3)).toBe(2)
  })

  it('make room when they close', () => {
    const count = counted()
    const first = from('2001:db8::1')
    expect([count.admit(first), admitted(count, '2001:db8::1', 2)]).toEqual([true, 1])
    first.emit('close')
    expect(admitted(count, '2001:db8::1', 2)).toBe(1)
  })

  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '10.1.2.3'])('of %s are not', (address) => {
    expect(admitted(counted(), address, 5)).toBe(5)
  })
})
