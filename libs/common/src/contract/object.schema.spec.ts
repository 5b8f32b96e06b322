import { describe, expect, it } from '@jest/globals'
import { receiver } from './object.schema.js'

const faultOf = (given: object): string | undefined => receiver.safeParse(given).error?.issues[0]?.message

describe('the address of a receiver', () => {
  const at = (url: unknown) => faultOf({ type: 'url', url })

  it.each(['https://example.com/in?a=%00', 'http://[2606:4700::1111]:8080/', 'http://bücher.example/ä'])(
    'may be %s',
    (url) => expect(at(url)).toBeUndefined(),
  )

  // to read it again was a fault of the daemon
  it.each(['http://exa mple/', 'http://[::1%25eth0]/', 'http://a%00.example/', 'http://'])(
    'is refused when it is no URL: %s',
    (url) => expect(at(url)).toBe('must be an http or https URL'),
  )

  it.each(['http://a:99999/', 'https://[2606:4700::1111]:65536?x=:1', 'http://a:123456'])(
    'is refused when its port is none: %s',
    (url) => expect(at(url)).toBe('must have a port of at most 65535'),
  )

  it.each(['http://exa mple:99999/', 'ftp://a:99999/', 'http://exa mple/:99999'])(
    'is refused for more than its port: %s',
    (url) => expect(at(url)).toBe('must be an http or https URL'),
  )

  it.each([undefined, 7, { toString: 1 }])('is refused when it is no text: %j', (url) =>
    expect(at(url)).toBe('must be an http or https URL'),
  )

  it.each(['http://example.com/\u0000', 'http://example.com/\r\nX: y'])(
    'holds nothing that is passed over: %j',
    (url) => expect(at(url)).toBe('must hold neither white space nor control characters'),
  )
})

describe('the program of a receiver', () => {
  const program = (argv: string[], env = {}) => faultOf({ type: 'argv', argv, env })

  it('has a name', () => {
    expect(program(['cat', ''])).toBeUndefined()
    expect(program([''])).toBe('must begin with a program')
  })

  it('is given no U+0000, which no system passes on', () => {
    expect(program(['cat', 'a\0b'])).toBe('may not hold the character U+0000')
    expect(program(['cat'], { A: '\0' })).toBe('may not hold the character U+0000')
  })
})
