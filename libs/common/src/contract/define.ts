import type { z } from 'zod'
import type { ErrorCode } from './errors.js'

export type ServiceName = 'gateway' | 'lifecycle' | 'host' | 'models' | 'scheduler' | 'objects'
export type Listener = 'owner' | 'app'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Who may call an operation at all; the owning service then checks the resource itself.
 *
 * - `open`: anybody, without a token.
 * - `owner`: the owner's token alone.
 * - `own`: any valid token; the service confines it to what is the caller's (a node to its subtree, an app to its own).
 *   An object's publish token is none: it publishes to its object and does nothing else.
 * - `bearer`: any valid token, a publish token too.
 * - `app`: an app's own token.
 * - `pub`: an object's publish token; the service confines it to its object.
 * - `self`: a node's token on the node named in the path.
 * - `broker`: as `self`, and of the node's current generation.
 * - a scope: any token whose list covers it. Several gates in a list: any one of them opens.
 */
export type Gate = 'open' | 'bearer' | 'owner' | 'own' | 'app' | 'pub' | 'self' | 'broker' | `svc:${string}`

/**
 * - `route`: an HTTP route with a typed method in the SDK.
 * - `untyped`: an HTTP route without one, reachable through `client.request`.
 * - `composed`: a method that the SDK composes from routes.
 * - `internal`: spoken between services on the bus only.
 */
export type OperationKind = 'route' | 'untyped' | 'composed' | 'internal'

/**
 * How an operation's answer is sent: one JSON body, a stream of server-sent events, or either by the Accept header;
 * `bytes`: what its `base64` stands for, as its `content_type` and under its `name`, or as JSON where that is accepted.
 */
export type Answer = 'json' | 'stream' | 'negotiated' | 'bytes'

type Shape = z.ZodObject

export interface Operation<
  Params extends Shape | undefined = Shape | undefined,
  Query extends Shape | undefined = Shape | undefined,
  Body extends z.ZodType | undefined = z.ZodType | undefined,
  Response extends z.ZodType | undefined = z.ZodType | undefined,
  Item extends z.ZodType | undefined = z.ZodType | undefined,
> {
  /** Namespace and method, as the SDK spells them: `nodes.reports.list`. */
  readonly name: string
  readonly kind: OperationKind
  readonly summary: string
  /** Longer text for the reference; Markdown. */
  readonly description?: string
  readonly service: ServiceName
  readonly method?: Method
  readonly path?: string
  readonly listeners?: readonly Listener[]
  readonly gate?: Gate | readonly Gate[]
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly response?: Response
  /** One item of the stream, when `answer` is not `json`. */
  readonly item?: Item
  readonly answer?: Answer
  /** Status of success; 200 unless named. */
  readonly status?: 200 | 201 | 202 | 204
  /** Codes that this operation may answer besides those that every route may (authentication, validation, availability). */
  readonly errors?: readonly ErrorCode[]
  /** `key`: takes an Idempotency-Key and replays the first answer. `natural`: repeating it changes nothing more. */
  readonly idempotency?: 'key' | 'natural'
  /** Why repeating it changes nothing more; every POST that is `natural` says it. */
  readonly repeats?: string
  /** Bytes of body that the route takes; 1 MiB unless named. */
  readonly bodyLimit?: number
  /** Of a stream that begins with all that is owed on every connect: a client names a position only if its caller does. */
  readonly replays?: true
  /** Of a stream whose items have no `type`: the name of its events, and the field by which a reader says where it stands. */
  readonly frame?: { readonly event: string; readonly id: string }
  /** Longest time in ms that the operation may take before it answers; 10,000 unless named. */
  readonly timeout?: number
  /** For `composed`: the operations that it is made of. */
  readonly composedOf?: readonly string[]
}

type Parsed<T> = T extends z.ZodType ? z.infer<T> : unknown
type Sent<T> = T extends z.ZodType ? z.input<T> : unknown
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** What a handler is given: path, query and body in one object. */
export type InputOf<O extends Operation> = Flat<Parsed<O['params']> & Parsed<O['query']> & Parsed<O['body']>>
/** What a caller on the bus may leave to defaults. */
export type CallOf<O extends Operation> = Flat<Sent<O['params']> & Sent<O['query']> & Sent<O['body']>>
export type OutputOf<O extends Operation> = O['response'] extends z.ZodType ? z.infer<O['response']> : undefined
export type ItemOf<O extends Operation> = O['item'] extends z.ZodType ? z.infer<O['item']> : never

const keysOf = (schema: z.ZodType | undefined): string[] =>
  schema && 'shape' in schema ? Object.keys(schema.shape as object) : []

const pathParams = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string)

/**
 * States one operation of the contract.
 *
 * @throws Error when path and params differ, when two of params, query and body share a field name (they are one object
 * for the handler), when a route lacks its method, path, listener or gate, or when a POST doesn't say what its repetition
 * does.
 */
export const operation = <
  const O extends Operation<P, Q, B, R, I>,
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  R extends z.ZodType | undefined = undefined,
  I extends z.ZodType | undefined = undefined,
>(
  entry: O & Operation<P, Q, B, R, I>,
): O => {
  const refuse = (why: string): never => {
    throw new Error(`contract entry ${entry.name}: ${why}`)
  }
  if (entry.kind === 'route' || entry.kind === 'untyped') {
    if (!entry.method || !entry.path || !entry.listeners?.length || !entry.gate) {
      refuse('a route names its method, path, listeners and gate')
    }
    const inPath = pathParams(entry.path ?? '').sort()
    const declared = keysOf(entry.params).sort()
    if (inPath.join() !== declared.join()) refuse(`path has {${inPath}} and params declare {${declared}}`)
  }
  if (entry.kind !== 'internal' && entry.method === 'POST') {
    if (!entry.idempotency) refuse('a POST takes an idempotency key, or is natural')
    if (entry.idempotency === 'natural' && !entry.repeats)
      refuse('a natural POST says why repeating it changes nothing')
  }
  const names = [...keysOf(entry.params), ...keysOf(entry.query), ...keysOf(entry.body)]
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice) refuse(`"${twice}" stands in two of params, query and body`)
  return entry
}

export const gatesOf = (entry: Operation): readonly Gate[] =>
  entry.gate === undefined ? [] : Array.isArray(entry.gate) ? entry.gate : [entry.gate as Gate]

export const answerOf = (entry: Operation): Answer => entry.answer ?? 'json'
