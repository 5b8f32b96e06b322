import { describe, expect, it } from '@jest/globals'
import { networkOf } from './guess.limit.js'

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
