import type { ContentPart } from '#common/contract/index.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'
import type { SchemaThread } from '#common/kernel/schema/schema.thread.js'

/** Judges the value that a call with a schema must return. */
export interface OutputJudge {
  /** The value in an answer. @throws SvcError model_error with the differences when it does not fit. */
  judge(content: readonly ContentPart[], rung: { provider: string; model: string }): Promise<unknown>
}

/** Models like to wrap JSON into a fence of Markdown. */
const unfenced = (text: string): string => /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text

/** @throws SvcError validation_failed when the schema itself is none. */
export const outputJudge = async (schema: Record<string, unknown>, schemas: SchemaThread): Promise<OutputJudge> => {
  const known = await schemas.ask(schema)
  const unusable = known ? known.unusable : 'it takes too long to compile'
  if (unusable !== undefined) {
    const message = `is not a JSON Schema of draft 2020-12: ${unusable}`
    throw new SvcError('validation_failed', undefined, { errors: [{ pointer: '/schema', message }] })
  }
  return {
    judge: async (content, { provider, model }) => {
      const refuse = (message: string, errors: readonly FieldFault[] = []): never => {
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
      const answer = await schemas.ask(schema, { given: value })
      if (!answer) return refuse('its answer takes too long to check against the schema')
      return answer.faults.length === 0 ? value : refuse('its answer does not satisfy the schema', answer.faults)
    },
  }
}

/** For providers that take a schema as a hint at most: the same in words. */
export const schemaInstruction = (schema: Record<string, unknown>): string =>
  `Answer with one JSON value and nothing else. It must satisfy this JSON Schema:\n${JSON.stringify(schema)}`
