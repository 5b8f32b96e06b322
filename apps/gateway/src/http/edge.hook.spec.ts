import { describe, expect, it } from '@jest/globals'
import { settings } from '#common/kernel/config.js'
import { AllowedHosts } from './edge.hook.js'
import { preferredWait } from './input.parser.js'

const hosts = (changes: object = {}): AllowedHosts =>
  new AllowedHosts(settings.parse({ SVC_DATA_DIR: '/d', ...changes }))

describe('the names under which the daemon answers', () => {
  it.each([
    ['localhost:7420', true],
    ['LOCALHOST', true],
    ['127.0.0.1:7420', true],
    ['[::1]:7420', true],
    ['evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example:7420', false],
    ['10.0.0.1', false],
    ['', false],
  ])('%j: %s', (host, answer) => expect(hosts().allows(host)).toBe(answer))

  it('are also those that the owner allowed', () => {
    const allowed = hosts({ SVC_ALLOWED_HOSTS: 'box.local, svc.example:443', SVC_BASE_URL: 'http://gateway:7420' })
    for (const host of ['box.local:7420', 'svc.example', 'gateway:7420']) expect(allowed.allows(host)).toBe(true)
  })

  it('are any address, but no other name, for one who listens on all', () => {
    const open = hosts({ SVC_OWNER_LISTEN: '0.0.0.0:7420' })
    expect([open.allows('192.168.1.7:7420'), open.allows('evil.example')]).toEqual([true, false])
  })

  it('are missing from a request without a Host', () => expect(hosts().allows(undefined)).toBe(false))
})

describe('Prefer', () => {
  it.each([
    ['wait=7', 7],
    ['respond-async, wait=7', 7],
    ['wait="9"; foo', 9],
    ['wait=600', 60],
    ['await=7', undefined],
    ['wait=x', undefined],
    [undefined, undefined],
  ])('%j means a wait of %j seconds', (header, seconds) => expect(preferredWait(header)).toBe(seconds))
})
