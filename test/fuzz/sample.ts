import { z } from 'zod'
import type { Random } from '../chaos/random.js'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type Schema = { readonly [key: string]: unknown }

/** What a field of this name is given, where a schema's pattern or the service behind it wants more than its type. */
export type Hints = Readonly<Record<string, Json>>

const schemas = new WeakMap<z.ZodType, Schema>()

const schemaOf = (type: z.ZodType): Schema => {
  const known = schemas.get(type)
  if (known) return known
  const schema = z.toJSONSchema(type, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Schema
  schemas.set(type, schema)
  return schema
}

const from = (schema: Schema, random: Random, hints: Hints, name: string): Json => {
  if (schema.const !== undefined) return schema.const as Json
  if (name in hints) return hints[name] as Json
  if (schema.enum) return random.pick(schema.enum as Json[])
  const branches = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (branches) return from(random.pick(branches), random, hints, name)
  switch (schema.type) {
    case 'object':
      return objectFrom(schema, random, hints)
    case 'array':
      return Array.from({ length: Math.max(Number(schema.minItems ?? 0), random.between(0, 2)) }, () =>
        from((schema.items ?? {}) as Schema, random, hints, name),
      )
    case 'integer':
    case 'number':
      return random.between(Number(schema.minimum ?? 0), Math.min(Number(schema.maximum ?? 9), 9))
    case 'boolean':
      return random.next() < 0.5
    case 'null':
      return null
    default:
      return 'text'
  }
}

const objectFrom = (schema: Schema, random: Random, hints: Hints): Json => {
  const required = new Set(schema.required as string[] | undefined)
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  return Object.fromEntries(
    fields
      .filter(([name]) => required.has(name) || random.next() < 0.3)
      .map(([name, field]) => [name, from(field, random, hints, name)]),
  )
}

/** A value that fits the contract, as far as a schema can tell. */
export const sample = (type: z.ZodType | undefined, random: Random, hints: Hints): Json =>
  type ? from(schemaOf(type), random, hints, '') : {}
