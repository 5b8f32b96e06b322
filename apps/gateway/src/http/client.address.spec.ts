import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { settings } from '#common/kernel/config.js'
import { networkOf, TrustedProxies } from './client.address.js'

const proxies = new TrustedProxies('10.0.0.0/8, 192.168.1.7, 2001:db8::/32')

/** What is believed of a request that came from `peer`. */
const from = (peer: string | undefined, forwarded: { for?: string; proto?: string; host?: string } = {}) => {
  const headers = Object.fromEntries(Object.entries(forwarded).map(([name, value]) => [`x-forwarded-${name}`, value]))
  const request = { socket: { remoteAddress: peer }, headers, rawHeaders: ['Host', 'localhost'] }
  return proxies.callerOf(request as unknown as IncomingMessage, false)
}

describe('the client’s address', () => {
  it.each([
    ['nobody says anything', '203.0.113.9', undefined, '203.0.113.9'],
    ['a stranger says it', '203.0.113.9', '127.0.0.1', '203.0.113.9'],
    ['a trusted proxy says it', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['a trusted proxy says it through an IPv6 socket', '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['two proxies stand between', '10.1.2.3', '203.0.113.9, 192.168.1.7', '203.0.113.9'],
    ['the client wrote a line of its own before', '10.1.2.3', '127.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['the proxy stands at IPv6', '2001:db8::1', '2001:db9::5', '2001:db9::5'],
    ['what is said is no address', '10.1.2.3', '203.0.113.9, unknown', '10.1.2.3'],
    ['nothing but proxies is named', '10.1.2.3', '10.9.9.9', '10.9.9.9'],
  ])('where %s', (_what, peer, said, address) => {
    expect(from(peer, said === undefined ? {} : { for: said }).remote).toBe(address)
  })

  it('is none at the owner’s socket', () => expect(from(undefined, { for: '203.0.113.9' }).remote).toBeNull())
})

describe('scheme and name of a request', () => {
  it('are taken from a trusted proxy besides its own', () => {
    expect(from('10.1.2.3', { proto: 'https', host: 'svc.example' })).toMatchObject({
      secure: true,
      hosts: ['localhost', 'svc.example'],
    })
  })

  it('are not taken from anybody else', () => {
    expect(from('203.0.113.9', { proto: 'https', host: 'svc.example' })).toMatchObject({
      secure: false,
      hosts: ['localhost'],
    })
  })
})

describe('SVC_TRUSTED_PROXIES', () => {
  const parse = (list: string) => settings.safeParse({ SVC_DATA_DIR: '/d', SVC_TRUSTED_PROXIES: list }).success

  it.each([
    ['10.0.0.1', true],
    ['10.0.0.0/8, fd00::/8', true],
    ['proxy.example', false],
    ['10.0.0.0/33', false],
    ['10.0.0.0/8/8', false],
    ['10.0.0.1,', false],
    ['*', false],
  ])('%j is taken: %s', (list, answer) => expect(parse(list)).toBe(answer))
})

describe('who an address stands for', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['fe80::a:b:c:d:e', 'fe80:0:0:a::/64'],
  ])('%s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
