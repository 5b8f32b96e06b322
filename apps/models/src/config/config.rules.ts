import { type ModelConfigDocument, modelConfigDocument } from '#common/contract/index.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'
import { isBuiltIn } from './config.defaults.js'

/** A config with the version that it was read at. */
export interface VersionedConfig {
  readonly version: number
  readonly document: ModelConfigDocument
  readonly updatedAt: number
}

export type ConfigChange = Partial<ModelConfigDocument>

/** Provider and model of a rung `provider/model`; a model's own name may hold slashes. */
export const splitRung = (rung: string): { provider: string; model: string } => {
  const slash = rung.indexOf('/')
  return { provider: rung.slice(0, slash), model: rung.slice(slash + 1) }
}

export const isKnownProvider = (document: ModelConfigDocument, name: string): boolean =>
  isBuiltIn(name) || Object.hasOwn(document.providers, name)

const pointer = (...path: (string | number)[]): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const looksSecret = /\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer\s+\S{16,}/

/** A base URL tells where a provider is; whoever puts a key there would read it back in every config and log. */
const urlFaults = (name: string, text: string): FieldFault[] => {
  const url = new URL(text)
  const at = pointer('providers', name, 'base_url')
  if (url.username || url.password)
    return [{ pointer: at, message: 'must not hold a user or a password: install a credential instead' }]
  if (url.search || url.hash)
    return [{ pointer: at, message: 'must not have a query or a fragment: install a credential instead' }]
  if (looksSecret.test(text))
    return [{ pointer: at, message: 'looks like it holds a key: install a credential instead' }]
  return []
}

const providerFaults = (document: ModelConfigDocument): FieldFault[] =>
  Object.entries(document.providers).flatMap(([name, provider]) => {
    const faults = provider.base_url === undefined ? [] : urlFaults(name, provider.base_url)
    if (provider.type === 'openai-compatible' && provider.base_url === undefined) {
      faults.push({ pointer: pointer('providers', name, 'base_url'), message: 'is required for openai-compatible' })
    }
    if (isBuiltIn(name) && provider.type !== name) {
      faults.push({
        pointer: pointer('providers', name, 'type'),
        message: `must be ${name}: this name stands for that type`,
      })
    }
    return faults
  })

const unknownProvider = (at: string, document: ModelConfigDocument, rung: string): FieldFault[] => {
  const { provider } = splitRung(rung)
  return isKnownProvider(document, provider)
    ? []
    : [{ pointer: at, message: `names the provider "${provider}", which is not configured` }]
}

const ladderFaults = (document: ModelConfigDocument): FieldFault[] =>
  Object.entries(document.ladders).flatMap(([strength, rungs]) =>
    rungs.flatMap((rung, at) => unknownProvider(pointer('ladders', strength, at), document, rung)),
  )

const nameFaults = (document: ModelConfigDocument): FieldFault[] =>
  (['prices', 'context_windows'] as const).flatMap((field) =>
    Object.keys(document[field]).flatMap((rung) =>
      rung.includes('/') ? [] : [{ pointer: pointer(field, rung), message: 'must be named provider/model' }],
    ),
  )

/**
 * The config after a change: a field that is given replaces the old one whole, an absent one stays.
 *
 * @throws SvcError validation_failed with a pointer to each fault.
 */
export const changeConfig = (before: ModelConfigDocument, change: ConfigChange): ModelConfigDocument => {
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const after = modelConfigDocument.parse({ ...before, ...given })
  const errors = [...providerFaults(after), ...ladderFaults(after), ...nameFaults(after)]
  if (errors.length) throw new SvcError('validation_failed', 'The model config is not valid.', { errors })
  return after
}
