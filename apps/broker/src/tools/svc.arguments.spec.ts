import { describe, expect, it } from '@jest/globals'
import { argumentsOf } from './svc.arguments.js'

const of = (...args: unknown[]): string[] => argumentsOf({ args })

describe('the arguments of svc', () => {
  it('are taken as they are, each by itself', () => {
    expect(of('push', 'half; rm -rf $HOME')).toEqual(['push', 'half; rm -rf $HOME'])
    expect(of('svc', 'node', 'list')).toEqual(['node', 'list'])
    expect(argumentsOf({ args: '["node", "list"]' })).toEqual(['node', 'list'])
    expect(of('node', 'new', '--engine', 'exec', '--', 'prog', '--token', 'x')).toHaveLength(8)
  })

  it.each(['--base-url', '--token', '--base-url=http://elsewhere', '--token=svc_own_x'])('refuse %s', (option) => {
    expect(() => of('node', 'list', option, 'x')).toThrow('address and token are set already')
  })

  it('name what is wrong with them', () => {
    expect(() => argumentsOf({})).toThrow('"args" must be a list, and is missing')
    expect(() => argumentsOf({ args: 'node list' })).toThrow('"args" must be a list, not text')
    expect(() => of()).toThrow('"args" must hold 1 to 200 entries')
    expect(() => of('push', 7)).toThrow('args[1] must be a string')
    expect(() => of('push', 'a\0b')).toThrow('args[1] holds a zero byte')
    expect(() => of('push', 'x'.repeat(100_001))).toThrow('args[1] is longer than 100000 bytes')
  })
})
