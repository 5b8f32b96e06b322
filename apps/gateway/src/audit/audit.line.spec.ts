import { expect, it } from '@jest/globals'
import { hashOf } from './audit.line.js'

it('a line’s hash is what any program computes from what the contract says', () => {
  const line = {
    at: 1_767_225_600_123,
    actor: { kind: 'owner', principal: 'owner', token_id: 'tok_1' },
    operation: 'focuses.set',
    resource: '/v1/focuses/"é',
    decision: 'allowed',
    code: null,
    listener: 'owner',
    remote: null,
    request_id: 'r-1',
    repeated: 1,
  } as const
  // by another program: SHA-256 over 32 zero bytes and
  // {"actor":{"kind":"owner","principal":"owner","token_id":"tok_1"},"at":"2026-01-01T00:00:00.123Z","code":null,…}
  expect(hashOf(Buffer.alloc(32), line, 1).toString('hex')).toBe(
    'a6719ea75c0676fcc233a277d96894dd8addcec20f4745a5bb8eb34a72532c6a',
  )
})
