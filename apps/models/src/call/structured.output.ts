import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'
import type { ContentPart } from '#common/contract/index.js'
import { SvcError } from '#common/kernel/errors.js'

/** Judges the value that a call with a schema must return. */
export interface OutputJudge {
  /** The value in an answer. @throws SvcError model_error with the differences when it does not fit. */
  judge(content: readonly ContentPart[], rung: { provider: string; model: string }): unknown
}

let shared: Promise<Ajv2020> | undefined

const validator = (): Promise<Ajv2020> => {
  shared ??= (async () => {
    const [{ Ajv2020 }, formats] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')])
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
    const addFormats = (formats.default.default ?? formats.default) as unknown as (ajv: Ajv2020) => void
    addFormats(ajv)
    return ajv
  })()
  return shared
}

const compile = async (schema: Record<string, unknown>): Promise<ValidateFunction> => {
  const ajv = await validator()
  // an identifier would be remembered, and refused at the next call
  const { $id: _id, ...nameless } = schema
  try {
    return ajv.compile(nameless)
  } catch (error) {
    const message = `is not a JSON Schema of draft 2020-12: ${(error as Error).message}`
    throw new SvcError('validation_failed', undefined, { errors: [{ pointer: '/schema', message }] })
  } finally {
    ajv.removeSchema(nameless)
  }
}

/** Models like to wrap JSON into a fence of Markdown. */
const unfenced = (text: string): string => /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text

/** @throws SvcError validation_failed when the schema itself is none. */
export const outputJudge = async (schema: Record<string, unknown>): Promise<OutputJudge> => {
  const validate = await compile(schema)
  return {
    judge: (content, { provider, model }) => {
      const refuse = (message: string, errors: { pointer: string; message: string }[] = []): never => {
        const fields = { provider, model, reason: 'schema_mismatch', errors }
        throw new SvcError('model_error', `${provider}/${model}: ${message}`, fields)
      }
      const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
      let value: unknown
      try {
        value = JSON.parse(unfenced(text))
      } catch {
        return refuse('its answer is not JSON')
      }
      if (validate(value)) return value
      const errors = (validate.errors ?? []).slice(0, 20)
      return refuse(
        'its answer does not satisfy the schema',
        errors.map((error) => ({ pointer: error.instancePath, message: error.message ?? error.keyword })),
      )
    },
  }
}

/** For providers that take a schema as a hint at most: the same in words. */
export const schemaInstruction = (schema: Record<string, unknown>): string =>
  `Answer with one JSON value and nothing else. It must satisfy this JSON Schema:\n${JSON.stringify(schema)}`
