import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { hasCode } from '#common/kernel/errors.js'
import { isPublicAddress, requireAllowedAddresses, requireAllowedUrl } from './address.js'

const isRefused = (url: string, allowPrivate = false): boolean => {
  try {
    requireAllowedUrl(url, allowPrivate)
    return false
  } catch (error) {
    if (hasCode(error, 'receiver_refused')) return true
    throw error
  }
}

const spellings = [
  '127.0.0.1',
  '127.1',
  '127.0.0.1.',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '0177.0.0.01',
  '１２７.0.0.1',
  '127。0。0。1',
  '0',
  '0.0.0.0',
  '10.1.2.3',
  '10.66051',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.169.254',
  '0xa9fea9fe',
  '168.63.129.16',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '239.255.255.250',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:a9fe:a9fe]',
  '[::ffff:8.8.8.8]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::a00:1]',
  '[2002:7f00:1::]',
  '[2001::1]',
  '[2001:db8::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'printer.local',
  'metadata.google.internal',
  'router.home.arpa',
]

const open = [
  'example.com',
  'localhost.example.com',
  'notlocalhost',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.255.255',
  '172.32.0.1',
  '[2606:4700::1111]',
  '[2a00:1450:4001::1]',
]

describe('the address of a receiver', () => {
  it.each(spellings)('%s is refused, unless its receiver may be private', (host) => {
    expect(isRefused(`https://${host}/hook`)).toBe(true)
    expect(isRefused(`http://${host}:8080/hook`)).toBe(true)
    expect(isRefused(`http://${host}/hook`, true)).toBe(false)
  })

  it.each(open)('%s is not', (host) => {
    expect(isRefused(`https://${host}/hook`)).toBe(false)
  })

  it('says which one is meant, and what would allow it', () => {
    expect(() => requireAllowedUrl('http://0x7f.1/', false)).toThrow(/127\.0\.0\.1.*allow_private/)
  })
})

const octet = fc.integer({ min: 0, max: 255 })
/** Spells an address of 32 bits in one of the ways that the URL standard takes. */
const spelled = (value: number, way: number): string => {
  const [a, b, c, d] = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255] as const
  const hex = (number: number): string => `0x${number.toString(16)}`
  const octal = (number: number): string => `0${number.toString(8)}`
  const ways = [
    () => [a, b, c, d].join('.'),
    () => String(value),
    () => hex(value),
    () => octal(value),
    () => [hex(a), octal(b), c, d].join('.'),
    () => `${a}.${value & 0xffffff}`,
    () => `${a}.${b}.${hex(value & 0xffff)}`,
    () => `${[a, b, c, d].join('.')}.`,
  ]
  return (ways[way % ways.length] as () => string)()
}

describe('an address in any spelling', () => {
  it('is refused when it is refused in the usual one', () => {
    fc.assert(
      fc.property(fc.tuple(octet, octet, octet, octet), fc.nat(), ([a, b, c, d], way) => {
        const value = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
        expect(isRefused(`http://${spelled(value, way)}/`)).toBe(!isPublicAddress([a, b, c, d].join('.')))
      }),
      { numRuns: 2000 },
    )
  })

  it('is refused inside of an address of the other family, whatever it is', () => {
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        const dotted = [a, b, c, d].join('.')
        for (const prefix of ['::ffff:', '::', '64:ff9b::']) expect(isPublicAddress(`${prefix}${dotted}`)).toBe(false)
      }),
    )
  })

  it('is refused in each private network, and loopback anywhere', () => {
    fc.assert(
      fc.property(octet, octet, octet, (b, c, d) => {
        for (const start of [
          [127, b],
          [10, b],
          [192, 168],
          [169, 254],
          [172, 16 + (b % 16)],
          [100, 64 + (b % 64)],
        ])
          expect(isPublicAddress([...start, c, d].join('.'))).toBe(false)
      }),
    )
  })
})

describe('what a name was resolved to', () => {
  const [good, bad] = [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]

  it('is taken when all of it is public', () => {
    expect(requireAllowedAddresses('a.test', [good], false)).toEqual([good])
  })

  it('is refused for one private address among public ones', () => {
    expect(() => requireAllowedAddresses('a.test', [good, bad], false)).toThrow(/a\.test leads to 127\.0\.0\.1/)
    expect(requireAllowedAddresses('a.test', [good, bad], true)).toEqual([good, bad])
  })

  it('is refused with the zone of an interface, and when it is no address', () => {
    expect(isPublicAddress('2606:4700::1%eth0')).toBe(false)
    expect(isPublicAddress('example.com')).toBe(false)
  })
})
