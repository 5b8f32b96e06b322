import 'reflect-metadata'
import type { InputOf, ItemOf, Operation, OutputOf } from '../../contract/define.js'
import type { Context } from '../context.js'

export type CallHandler<O extends Operation> = (ctx: Context, input: InputOf<O>) => Promise<OutputOf<O>>

/**
 * Of a stream. As an async generator it accepts every request; a promise of an iterable can refuse before the first item.
 * When `ctx.signal` fires nobody reads any more: what the handler waits for must end with it.
 */
export type StreamHandler<O extends Operation> = (
  ctx: Context,
  input: InputOf<O>,
) => AsyncIterable<ItemOf<O>> | Promise<AsyncIterable<ItemOf<O>>>

/** That a method handles an operation: its answer (`call`) or its items (`stream`). */
export interface Mark {
  readonly operation: Operation
  readonly role: 'call' | 'stream'
}

const key = Symbol.for('svc.bus.handles')

const mark = (method: object, added: Mark): void => {
  Reflect.defineMetadata(key, [...marksOf(method), added], method)
}

export const marksOf = (method: object): readonly Mark[] =>
  (Reflect.getMetadata(key, method) as Mark[] | undefined) ?? []

/** The method answers this operation. Its parameters and answer are checked against the contract by the compiler. */
export const Handles =
  <O extends Operation>(operation: O) =>
  <T extends CallHandler<O>>(_target: object, _name: string | symbol, method: TypedPropertyDescriptor<T>): void =>
    mark(method.value as T, { operation, role: 'call' })

/** The method produces this operation's stream. */
export const Streams =
  <O extends Operation>(operation: O) =>
  <T extends StreamHandler<O>>(_target: object, _name: string | symbol, method: TypedPropertyDescriptor<T>): void =>
    mark(method.value as T, { operation, role: 'stream' })
