import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { DeclaredEvent } from '#common/contract/object.schema.js'
import type { FieldFault } from '#common/kernel/errors.js'
import { type SchemaThread, schemaPatience } from '#common/kernel/schema/schema.thread.js'
import { weightOf } from './schema.weight.js'

/** Parts of a schema times bytes of a payload that are checked right here: some ms at most. */
const workHere = 10_000_000
/** Payloads up to this size (bytes) are told all their differences, larger ones the first. */
const toldInFull = 16 * 1024
const faultsShown = 50

type Schema = DeclaredEvent['payload_schema']

/** The payload of one event as it was sent, and as JSON text. */
export interface GivenPayload {
  readonly value: unknown
  readonly text: string
}

// they see no schema that isn't usable, and keep none: what is compiled lives as long as the catalog that it is of
const options = { strict: false, validateSchema: false, addUsedSchema: false, ownProperties: true }
const quick = new Ajv2020(options)
const thorough = new Ajv2020({ ...options, allErrors: true })

const compile = (ajv: Ajv2020, schema: Schema): ValidateFunction => {
  try {
    return ajv.compile(schema)
  } finally {
    ajv.removeSchema(schema)
  }
}

const faultsOf = ({ errors }: ValidateFunction): FieldFault[] =>
  (errors ?? []).slice(0, faultsShown).map(({ instancePath, message }) => ({
    pointer: instancePath,
    message: message ?? 'does not fit the schema',
  }))

/**
 * Holds payloads against what one event declares. Most in this process, within microseconds; in the thread for schemas
 * where a payload can be made so that it takes for ever.
 */
export class PayloadCheck {
  #weight: number | undefined
  #fits: ValidateFunction | undefined
  #differs: ValidateFunction | undefined

  constructor(
    private readonly schema: Schema,
    private readonly thread: SchemaThread,
    /** The object whose event it is. */
    private readonly objectId: string,
  ) {}

  /**
   * Where the payload differs, as pointers into it; none when it fits.
   *
   * @throws SvcError rate_limited when too many payloads wait for the thread
   */
  differences(payload: GivenPayload): readonly FieldFault[] | Promise<readonly FieldFault[]> {
    this.#weight ??= weightOf(this.schema)
    if (this.#weight * payload.text.length > workHere) return this.#inThread(payload)
    this.#fits ??= compile(quick, this.schema)
    if (this.#fits(payload.value)) return []
    if (payload.text.length > toldInFull) return faultsOf(this.#fits)
    this.#differs ??= compile(thorough, this.schema)
    this.#differs(payload.value)
    return faultsOf(this.#differs)
  }

  async #inThread({ value }: GivenPayload): Promise<readonly FieldFault[]> {
    const answer = await this.thread.ask(this.schema, { given: value }, this.objectId)
    const whole = (message: string): FieldFault[] => [{ pointer: '', message }]
    if (!answer) return whole(`takes too long to check against the schema (more than ${schemaPatience} ms)`)
    if (answer.unusable !== undefined) return whole(`can't be checked: ${answer.unusable}`)
    return answer.faults
  }
}
