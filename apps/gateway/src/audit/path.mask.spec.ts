import { describe, expect, it } from '@jest/globals'
import { mintToken } from '#common/kernel/tokens.js'
import { maskedPath } from './path.mask.js'

const token = mintToken('app', '01jd0000000000000000000000')
const encodedAt = (depth: number): string => {
  let text = token.replaceAll('_', '%5f')
  for (let at = 0; at < depth; at += 1) text = encodeURIComponent(text)
  return text
}

describe('a path in the log', () => {
  it.each([
    ['/v1/nodes/node_01jd0000000000000000000000/message', '/v1/nodes/node_01jd0000000000000000000000/message'],
    ['/v1/focuses/%251', '/v1/focuses/%251'],
    ['/v1/model-auth/openai?key=sk-1#x', '/v1/model-auth/openai'],
    ['/v1/model-auth/sk-abcdefghijklmnopqrstuvwx', '/v1/model-auth/[secret]'],
    [`/v1/${'ab12'.repeat(10)}`, '/v1/[secret]'],
    ['/v1/custom-objects/whsec_abcdefgh1234', '/v1/custom-objects/[secret]'],
    ['/v1/a\u0000b\u00e9', '/v1/a?b?'],
    ['', ''],
  ])('%s is %s', (url, shown) => {
    expect(maskedPath(url)).toBe(shown)
  })

  it('shows no token, however often it was encoded, and not the part that its cut would leave', () => {
    for (const text of [token, encodedAt(0), encodedAt(1), encodedAt(2), `${'a.'.repeat(60)}${token}`]) {
      expect(maskedPath(`/v1/nodes/${text}/x`)).not.toMatch(/svc(_|%5f)+app/i)
      expect(maskedPath(`/v1/nodes/${text}/x`)).not.toContain(token.slice(-20))
    }
  })

  it('is bounded, each part and the whole', () => {
    expect(maskedPath(`/${'a.'.repeat(5000)}`).length).toBeLessThan(140)
    expect(maskedPath('/a.b'.repeat(5000)).length).toBeLessThan(520)
  })
})
