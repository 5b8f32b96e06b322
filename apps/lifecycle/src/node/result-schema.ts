import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { SvcError } from '#common/kernel/errors.js'

/** Schemas come from callers: none is trusted to be small, and no remote reference is followed. */
const newAjv = (): Ajv2020 => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
  ajvFormats.default(ajv)
  return ajv
}

/** @throws SvcError validation_failed when the schema itself is not valid */
export const compileSchema = (schema: Record<string, unknown>): ValidateFunction => {
  try {
    return newAjv().compile(schema)
  } catch (cause) {
    throw new SvcError(
      'validation_failed',
      undefined,
      { errors: [{ pointer: '/result_schema', message: `is not a usable JSON Schema: ${(cause as Error).message}` }] },
      { cause },
    )
  }
}

/** @throws SvcError with each difference and its place */
export const validateAgainst = (
  schema: Record<string, unknown>,
  value: unknown,
  code: 'result_schema_mismatch',
): void => {
  const validate = compileSchema(schema)
  if (validate(value)) return
  throw new SvcError(code, undefined, {
    errors: (validate.errors ?? []).slice(0, 50).map((fault) => ({
      pointer: `/value${fault.instancePath}`,
      message: fault.message ?? 'does not fit the schema',
    })),
  })
}
