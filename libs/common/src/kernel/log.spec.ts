import { describe, expect, it } from '@jest/globals'
import { SvcError } from './errors.js'
import { createLogger } from './log.js'
import { deriveNodeToken, mintToken } from './tokens.js'

const ownToken = mintToken('own', '01jd0000000000000000000000')
const nodeToken = deriveNodeToken(Buffer.alloc(32), 'node_01jd0000000000000000000000', 12)

const logged = (...record: [object, string]): string => {
  const lines: string[] = []
  createLogger('test', 'info', { write: (line) => void lines.push(line) }).info(...record)
  const text = lines.join('')
  expect(() => JSON.parse(text)).not.toThrow()
  return text
}

describe('a log', () => {
  it.each([
    ['in a field of its own', { token: ownToken }],
    ['in a field of another name', { argument: ownToken }],
    ['deep in a record', { a: { b: { c: { d: [{ e: ownToken }] } } } }],
    ['in the text of an error', { err: new Error(`refused ${ownToken}`) }],
    ['in the cause of an error', { err: new Error('refused', { cause: new Error(ownToken) }) }],
    ['in the fields of an error', { err: new SvcError('token_invalid', undefined, { given: ownToken }) }],
  ])('never shows a token %s', (_where, record) => {
    expect(logged(record, 'a record')).not.toContain(ownToken.slice(-49))
  })

  it('never shows a token in its message', () => {
    const text = logged({}, `Bearer ${nodeToken} and ${ownToken}`)
    expect(JSON.parse(text).msg).toBe('Bearer [secret] and [secret]')
  })

  it('never shows the password of an address', () => {
    const text = logged(
      { url: 'postgresql://svc:geheim@localhost/svc', redis: '/run/redis.sock?password=geheim' },
      'nats://gateway:geheim@127.0.0.1:4222 and http://127.0.0.1:7420/v1/nodes?text=a@b',
    )
    expect(text).not.toContain('geheim')
    expect(text).toContain('http://127.0.0.1:7420/v1/nodes?text=a@b')
  })

  it.each(['authorization', 'api_key', 'password', 'secret', 'ciphertext'])('never shows a field named %s', (name) => {
    expect(
      logged({ [name]: 'geheim', one: { [name]: 'geheim', two: { [name]: 'geheim' } } }, 'a record'),
    ).not.toContain('geheim')
  })
})
