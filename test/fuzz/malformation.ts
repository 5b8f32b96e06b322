import type { ErrorCode } from '#common/contract/errors.js'
import type { Random } from '../chaos/random.js'
import type { Json } from './sample.js'
import { type Shot, withHeader } from './shot.js'

/** Makes a sound request unsound, or leaves it alone where it has nothing to take hold of. */
export interface Malformation {
  readonly name: string
  readonly apply: (shot: Shot, random: Random, body: Json) => Shot
}

export const text = (shot: Shot, body: string | Uint8Array, codes?: readonly ErrorCode[]): Shot =>
  shot.body ? { ...shot, body: Buffer.from(body as string), ...(codes && { codes }) } : shot

export const json = (shot: Shot, body: Json): Shot => text(shot, JSON.stringify(body))

export const header =
  (name: string, values: readonly string[], codes?: readonly ErrorCode[], also?: readonly ErrorCode[]) =>
  (shot: Shot, random: Random): Shot => ({
    ...withHeader(shot, name, random.pick(values)),
    ...(codes && { codes }),
    ...(also && { also }),
  })

export const ofBody =
  (name: string, values: readonly string[], codes?: readonly ErrorCode[]) =>
  (shot: Shot, random: Random): Shot =>
    shot.body ? header(name, values, codes)(shot, random) : shot

export const unreadable: readonly ErrorCode[] = ['malformed_request']
export const unsuitable: readonly ErrorCode[] = ['validation_failed']
