import { ResultError } from './errors.js'

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Issue = { readonly message: string; readonly path?: readonly unknown[] | undefined }
type Validated<T> = { readonly value: T; readonly issues?: undefined } | { readonly issues: readonly Issue[] }

/** A schema of any library that follows the Standard Schema convention, as zod does. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly validate: (value: unknown) => Validated<T> | Promise<Validated<T>>
    readonly types?: { readonly input: unknown; readonly output: T } | undefined
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown> }
  }
  readonly toJSONSchema?: (options?: { readonly io: 'input' }) => unknown
}

/** Schema of a result: the library's own object, whose type the result gets, or a plain JSON Schema. */
export type ResultSchema<T> = StandardSchema<T> | JsonSchema

const isStandard = <T>(schema: ResultSchema<T>): schema is StandardSchema<T> =>
  typeof (schema as Partial<StandardSchema<T>>)['~standard']?.validate === 'function'

/**
 * The JSON Schema of what may be submitted.
 *
 * @throws TypeError for a schema whose library can't say it as JSON Schema
 */
export const jsonSchemaOf = <T>(schema: ResultSchema<T>): Record<string, unknown> => {
  if (!isStandard(schema)) return { ...schema }
  const said =
    schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) ?? schema.toJSONSchema?.({ io: 'input' })
  if (typeof said !== 'object' || said === null) {
    throw new TypeError('this schema has no JSON Schema: use a library that gives one (zod 4), or pass a JSON Schema')
  }
  const { '~standard': _, ...plain } = said as Record<string, unknown>
  return plain
}

/** The value as the schema types it. @throws ResultError when the schema refuses it */
export const validated = async <T>(schema: ResultSchema<T>, value: unknown): Promise<T> => {
  if (!isStandard(schema)) return value as T
  const result = await schema['~standard'].validate(value)
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ message, path }) => ({
    pointer: (path ?? []).map((key) => `/${String((key as { key?: unknown })?.key ?? key)}`).join(''),
    message,
  }))
  throw new ResultError(`the result does not fit the schema: ${issues[0]?.message ?? 'unknown'}`, {
    value,
    errors: issues,
  })
}
