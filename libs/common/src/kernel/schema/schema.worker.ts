import { parentPort } from 'node:worker_threads'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'

/** One question to the thread: whether a schema can be used, or whether a value fits it. */
export interface SchemaQuestion {
  readonly id: number
  readonly schema: Record<string, unknown>
  readonly value?: { readonly given: unknown }
}

export interface SchemaAnswer {
  readonly id: number
  /** Why the schema itself can't be used. */
  readonly unusable?: string
  readonly faults: readonly { readonly pointer: string; readonly message: string }[]
}

const faultsShown = 50

const compile = (schema: Record<string, unknown>): ValidateFunction => {
  // a new one each time: a schema of one caller must not be found by the $id of another's
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true, ownProperties: true })
  ajvFormats.default(ajv)
  const validate = ajv.compile(schema)
  // no JSON Schema: the validator would answer with a promise, which is taken for a yes
  if ('$async' in validate) throw new Error('$async is no keyword of JSON Schema')
  return validate
}

/** What was compiled lately, by the text of its schema; as much text (characters) as the thread's memory bears with ease. */
const compiled = new Map<string, ValidateFunction>()
const keptText = 256 * 1024
let keptNow = 0

const validatorOf = (schema: Record<string, unknown>): ValidateFunction => {
  const text = JSON.stringify(schema)
  const known = compiled.get(text)
  if (known) return known
  const validate = compile(schema)
  if (keptNow + text.length > keptText) {
    compiled.clear()
    keptNow = 0
  }
  if (text.length <= keptText) {
    compiled.set(text, validate)
    keptNow += text.length
  }
  return validate
}

const answer = ({ id, schema, value }: SchemaQuestion): SchemaAnswer => {
  let validate: ValidateFunction
  try {
    validate = validatorOf(schema)
  } catch (error) {
    return { id, unusable: (error as Error).message.slice(0, 500), faults: [] }
  }
  if (!value || validate(value.given)) return { id, faults: [] }
  const faults = (validate.errors ?? []).slice(0, faultsShown).map((fault) => ({
    pointer: fault.instancePath,
    message: fault.message ?? 'does not fit the schema',
  }))
  return { id, faults }
}

parentPort?.on('message', (question: SchemaQuestion) => parentPort?.postMessage(answer(question)))
parentPort?.postMessage('ready')
