import { describe, expect, it } from '@jest/globals'
import type { Operation } from '../../contract/define.js'
import { endpointsOf, type FoundHandler } from './endpoints.js'

const entry = (name: string, more: Partial<Operation> = {}): Operation => ({
  name,
  kind: 'route',
  summary: '',
  service: 'lifecycle',
  ...more,
})
const found = (operation: Operation, more: Partial<FoundHandler> = {}): FoundHandler => ({
  operation,
  role: 'call',
  where: 'NodeRpc.create',
  method: async () => undefined,
  ...more,
})

const create = entry('nodes.create')
const stream = entry('nodes.stream', { answer: 'stream' })
const events = entry('nodes.events', { answer: 'negotiated' })

describe('endpoints of a service', () => {
  it('tie each operation to its handler', () => {
    const [endpoint] = endpointsOf('lifecycle', [create], [found(create)])
    expect(endpoint?.entry).toBe(create)
    expect(endpoint?.call).toBeDefined()
    expect(endpoint?.stream).toBeUndefined()
  })

  it('refuse an operation without a handler', () => {
    expect(() => endpointsOf('lifecycle', [create], [])).toThrow('nodes.create has no handler')
  })

  it('refuse an operation with two, and name both', () => {
    const two = [found(create), found(create, { where: 'Other.create' })]
    expect(() => endpointsOf('lifecycle', [create], two)).toThrow('two handlers: NodeRpc.create, Other.create')
  })

  it("refuse a handler for another service's operation", () => {
    const foreign = entry('models.list', { service: 'models' })
    expect(() => endpointsOf('lifecycle', [foreign], [found(foreign)])).toThrow("is not lifecycle's to serve")
  })

  it('refuse a handler for an operation that the contract does not have', () => {
    expect(() => endpointsOf('lifecycle', [], [found(create)])).toThrow("is not lifecycle's to serve")
  })

  it('ask for a stream where the answer is one', () => {
    expect(() => endpointsOf('lifecycle', [stream], [found(stream)])).toThrow('nodes.stream has no handler')
    expect(() => endpointsOf('lifecycle', [create], [found(create), found(create, { role: 'stream' })])).toThrow(
      'wrong kind',
    )
  })

  it('take the JSON half of a negotiated answer alone, or both', () => {
    const both = [found(events), found(events, { role: 'stream' })]
    expect(endpointsOf('lifecycle', [events], [found(events)])).toHaveLength(1)
    expect(endpointsOf('lifecycle', [events], both)[0]?.stream).toBeDefined()
  })

  it('leave out what is composed in the client, and what is served without the bus', () => {
    const composed = entry('auth.status', { kind: 'composed' })
    expect(endpointsOf('lifecycle', [composed, create], [], ['nodes.create'])).toEqual([])
  })
})
