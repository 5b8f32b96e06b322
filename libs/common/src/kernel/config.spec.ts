import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { baseUrlOf, loadSettings, settings } from './config.js'

const env = (more: Record<string, string>) => ({ SVC_DATA_DIR: '/nonexistent', ...more })

describe('the base URL that brokers and clients are told', () => {
  it.each([
    ['127.0.0.1:7420', 'http://127.0.0.1:7420'],
    ['box.local:80', 'http://box.local:80'],
    ['[::1]:7420', 'http://[::1]:7420'],
    // nobody can call "all addresses": a broker was told http://0.0.0.0
    ['0.0.0.0:7420', 'http://127.0.0.1:7420'],
    ['[::]:7420', 'http://[::1]:7420'],
  ])('of a listener at %s is %s', (listen, url) => {
    expect(baseUrlOf(loadSettings(env({ SVC_OWNER_LISTEN: listen })))).toBe(url)
  })

  it('is the one that was given', () => {
    const given = { SVC_OWNER_LISTEN: '0.0.0.0:7420', SVC_BASE_URL: 'https://svc.example' }
    expect(baseUrlOf(loadSettings(env(given)))).toBe('https://svc.example')
  })
})

describe('settings', () => {
  it('of an unknown name are refused, those of clients left alone', () => {
    expect(() => loadSettings(env({ SVC_OWNER_LISTN: '127.0.0.1:1' }))).toThrow('SVC_OWNER_LISTN')
    expect(() => loadSettings(env({ SVC_TOKEN: 'x', SVC_TOKEN_FILE: 'z', SVC_NODE_ID: 'y' }))).not.toThrow()
  })

  it('are all told in docs/operations.md', () => {
    const told = readFileSync('docs/operations.md', 'utf8')
    expect(Object.keys(settings.shape).filter((name) => !told.includes(`\`${name}\``))).toEqual([])
  })
})
