import { answerOf, type Operation, type ServiceName } from '../../contract/define.js'
import type { Context } from '../context.js'
import type { Mark } from './handles.decorator.js'
import type { Produced } from './stream.producer.js'

/** A method found with a mark, bound to its provider. */
export interface FoundHandler extends Mark {
  /** Class and method, for messages. */
  readonly where: string
  readonly method: (ctx: Context, input: unknown) => unknown
}

export interface Endpoint {
  readonly entry: Operation
  readonly call?: (ctx: Context, input: unknown) => Promise<unknown>
  readonly stream?: (ctx: Context, input: unknown) => Produced
}

/** Operations that a service must handle: all that the contract gives it, but those composed in the client. */
const ownedBy = (service: ServiceName, operations: readonly Operation[], except: ReadonlySet<string>): Operation[] =>
  operations.filter((entry) => entry.service === service && entry.kind !== 'composed' && !except.has(entry.name))

/** A negotiated answer needs its JSON half here; its stream may be composed at the edge. */
const needs = (entry: Operation): Mark['role'] => (answerOf(entry) === 'stream' ? 'stream' : 'call')

const allows = (entry: Operation, role: Mark['role']): boolean =>
  answerOf(entry) === 'negotiated' || role === needs(entry)

/**
 * Ties the operations of a service to their handlers.
 *
 * @param except operations of this service that are served without the bus.
 * @throws Error that names each operation without a handler, with two, or handled by a service that doesn't own it, or
 * with a handler of the wrong role.
 */
export const endpointsOf = (
  service: ServiceName,
  operations: readonly Operation[],
  found: readonly FoundHandler[],
  except: readonly string[] = [],
): Endpoint[] => {
  const owned = ownedBy(service, operations, new Set(except))
  const of = (entry: Operation, role: Mark['role']): FoundHandler[] =>
    found.filter((handler) => handler.operation.name === entry.name && handler.role === role)

  const faults = [
    ...owned.filter((entry) => of(entry, needs(entry)).length === 0).map((entry) => `${entry.name} has no handler`),
    ...owned.flatMap((entry) =>
      (['call', 'stream'] as const)
        .map((role) => of(entry, role))
        .filter((handlers) => handlers.length > 1)
        .map((handlers) => `${entry.name} has two handlers: ${handlers.map(({ where }) => where).join(', ')}`),
    ),
    ...found
      .filter(({ operation }) => !owned.some(({ name }) => name === operation.name))
      .map(({ operation, where }) => `${where} handles ${operation.name}, which is not ${service}'s to serve`),
    ...found
      .filter(({ operation, role }) => !allows(operation, role))
      .map(({ operation, where }) => `${where} answers ${operation.name} with the wrong kind of handler`),
  ]
  if (faults.length > 0) throw new Error(`The handlers of ${service} don't fit the contract:\n${faults.join('\n')}`)

  return owned.map((entry) => {
    const [call] = of(entry, 'call')
    const [stream] = of(entry, 'stream')
    return {
      entry,
      ...(call && { call: call.method as Endpoint['call'] }),
      ...(stream && { stream: stream.method as Endpoint['stream'] }),
    } as Endpoint
  })
}
