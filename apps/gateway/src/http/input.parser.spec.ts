import { describe, expect, it } from '@jest/globals'
import type { FastifyRequest } from 'fastify'
import { contract } from '#common/contract/index.js'
import type { SvcError } from '#common/kernel/errors.js'
import { parseInput, preferredWait } from './input.parser.js'

const faultsOf = (name: keyof typeof contract, { body, ...rest }: { body?: unknown; [part: string]: unknown }) => {
  try {
    parseInput(
      contract[name],
      { params: { ref: 'build-server' }, query: {}, headers: {}, ...rest } as unknown as FastifyRequest,
      body,
    )
    return []
  } catch (error) {
    return (error as SvcError).fields.errors
  }
}

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

describe('the faults of a request', () => {
  it.each([
    { query: { after: 'foo' } },
    { query: { after: '9'.repeat(20) } },
    { query: { after: '1.5' } },
    { query: { after: '-1' } },
    { headers: { 'last-event-id': '9'.repeat(20) } },
  ])('say once what number may be given instead: %j', (given) => {
    const message = `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`
    expect(faultsOf('customObjects.receive', given)).toEqual([{ pointer: '/after', message }])
  })

  it('say of a field that it is missing', () => {
    expect(faultsOf('customObjects.publish', { body: { event: 'a' } })).toEqual([
      { pointer: '/payload', message: 'is missing' },
    ])
    expect(faultsOf('canvas.watches.put', { body: { source: 'a' } })).toEqual([
      { pointer: '/watcher', message: 'is missing' },
    ])
  })
})
