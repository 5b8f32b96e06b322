import { describe, expect, it } from '@jest/globals'
import { settings } from '#common/kernel/config.js'
import { AllowedHosts } from './allowed.hosts.js'

const hosts = (changes: object = {}): AllowedHosts =>
  new AllowedHosts(settings.parse({ SVC_DATA_DIR: '/d', ...changes }))

describe('the names under which the daemon answers', () => {
  it.each([
    ['localhost:7420', true],
    ['LOCALHOST', true],
    ['localhost.:7420', true],
    ['127.0.0.1:7420', true],
    ['127.1:7420', true],
    ['[::1]:7420', true],
    ['[0:0:0:0:0:0:0:1]', true],
    ['evil.example', false],
    ['evil.example.', false],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example:7420', false],
    ['localhost@evil.example', false],
    ['evil.example/localhost', false],
    ['localhost:7420:7420', false],
    ['localhost:', false],
    ['localhost:99999', false],
    [' localhost', false],
    ['localhost, evil.example', false],
    ['::1', false],
    ['[::1', false],
    ['[::2]', false],
    ['10.0.0.1', false],
    ['.', false],
    ['', false],
  ])('%j: %s', (host, answer) => expect(hosts().allows(host)).toBe(answer))

  it('are also those that the owner allowed', () => {
    const allowed = hosts({ SVC_ALLOWED_HOSTS: 'Box.local, svc.example:443', SVC_BASE_URL: 'http://gateway:7420' })
    for (const host of ['box.local:7420', 'svc.example', 'gateway:7420']) expect(allowed.allows(host)).toBe(true)
  })

  it('are any address, but no other name, for one who listens on all', () => {
    const open = hosts({ SVC_OWNER_LISTEN: '0.0.0.0:7420' })
    expect([open.allows('192.168.1.7:7420'), open.allows('[fe80::7]:7420'), open.allows('evil.example')]).toEqual([
      true,
      true,
      false,
    ])
  })

  it('come and go with what the owner opens', () => {
    const allowed = hosts()
    allowed.allow({ listen: ['box.local:7443'], hosts: ['svc.example'] })
    expect(['box.local:7443', 'svc.example', 'localhost'].map((host) => allowed.allows(host))).toEqual([
      true,
      true,
      true,
    ])
    allowed.allow({ listen: [], hosts: [] })
    expect(['box.local:7443', 'svc.example', 'localhost'].map((host) => allowed.allows(host))).toEqual([
      false,
      false,
      true,
    ])
  })
})
