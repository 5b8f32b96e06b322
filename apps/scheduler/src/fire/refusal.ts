import { isSvcError, SvcError } from '#common/kernel/errors.js'
import type { FireRecord } from './fire.record.js'
import { storable } from './storable.js'

/** What a failed attempt says to whoever reads the firing, and whether another can go better. */
export interface Refusal {
  readonly final: boolean
  readonly error: NonNullable<FireRecord['error']>
}

/** A host that runs as many commands as it may says how long to wait. */
const saysWhen = ({ fields }: SvcError): boolean => typeof fields.retry_after_ms === 'number'

export const refusalOf = (thrown: unknown): Refusal => {
  const error = isSvcError(thrown) ? thrown : new SvcError('internal', String(thrown))
  return {
    final: !error.facts.retryable && !saysWhen(error),
    error: { code: error.code, message: storable(error.message) },
  }
}
