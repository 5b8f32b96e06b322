import type { z } from 'zod'
import type { Operation } from '../../contract/define.js'
import { SvcError } from '../errors.js'
import { faultText } from '../field.fault.js'

const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** The fields that a schema knows by name; undefined when it isn't an object. */
const namesOf = (schema: z.ZodType): readonly string[] | undefined =>
  'shape' in schema ? Object.keys(schema.shape as object) : undefined

/**
 * Parses the input of an internal operation: the fields of each object schema, and the rest by a body that is none.
 *
 * @throws SvcError `validation_failed` with a pointer to each fault.
 */
export const parseInput = (entry: Operation, input: unknown): unknown => {
  const given = (input ?? {}) as Record<string, unknown>
  const schemas = [entry.params, entry.query, entry.body].filter((schema) => schema !== undefined)
  const named = new Set(schemas.flatMap((schema) => namesOf(schema) ?? []))
  const unknown = Object.keys(given).filter((name) => !named.has(name))

  const errors: { pointer: string; message: string }[] = []
  const parsed: Record<string, unknown> = {}
  for (const schema of schemas) {
    const names = namesOf(schema) ?? unknown
    const own = Object.fromEntries(names.filter((name) => name in given).map((name) => [name, given[name]]))
    const result = schema.safeParse(own)
    if (result.success) Object.assign(parsed, result.data)
    else
      errors.push(
        ...result.error.issues.map((issue) => ({ pointer: pointerOf(issue.path), message: faultText(issue) })),
      )
  }
  if (errors.length > 0) throw new SvcError('validation_failed', undefined, { errors })
  return parsed
}
