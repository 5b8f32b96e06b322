import { SvcError } from './errors.js'
import { checkScopes, parseScope, type ScopeRules } from './scopes.js'

/** The whole grammar, as people write it. */
export const scopeForms: readonly string[] = [
  'svc:llm',
  'svc:act',
  'svc:schedule',
  'svc:memory:read:user[:<path>]',
  'svc:memory:rw:user[:<path>]',
  'svc:memory:manage:user',
  'svc:memory:read:app[:<id>[:profile:<profile>]]',
  'svc:memory:rw:app[:<id>[:profile:<profile>]]',
  'svc:files:read:user:<dir>',
  'svc:files:rw:user:<dir>',
  'svc:files:read:app:<id>:<dir>',
  'svc:files:rw:app:<id>:<dir>',
  'svc:files:share',
  'svc:conversations:read:app:<id>',
  'svc:objects:read:app:<id>',
  '<provider>:<group>',
]

const ownDocuments = /^svc:memory:(read|rw):app$/

/** A list with "the app's own documents" spelled out as those of this app. Everything else stays as it was written. */
export const forApp = (list: readonly string[], appId: string): string[] =>
  list.map((text) => (ownDocuments.test(text) ? `${text}:${appId}` : text))

const isScope = (text: string, rules: ScopeRules): boolean => {
  try {
    // `*` is the owner's, and is given to nobody
    return parseScope(text, rules).kind !== 'all'
  } catch {
    return false
  }
}

/**
 * What somebody asks for an app, in its one spelling. `svc:memory:read:app` and `svc:memory:rw:app` become the app's own.
 *
 * @throws SvcError `validation_failed` that points at each scope that isn't one, with what is accepted; or at `svc:act`
 * without `svc:llm`.
 */
export const appScopes = (list: readonly string[], appId: string, rules: ScopeRules = {}): string[] => {
  const own = forApp(list, appId)
  const errors = own.flatMap((text, at) =>
    isScope(text, rules)
      ? []
      : [{ pointer: `/scopes/${at}`, message: `"${text.slice(0, 200)}" is not a scope that an app can be given` }],
  )
  if (errors.length > 0) {
    const message = `${errors.map((fault) => fault.message).join('; ')}. Accepted: ${scopeForms.join(', ')}.`
    throw new SvcError('validation_failed', message.slice(0, 4000), { errors, accepted: scopeForms })
  }
  return checkScopes(own, rules)
}
