import { SvcError } from '#common/kernel/errors.js'
import { checkScopes, covers, intersect } from '#common/kernel/scopes.js'

/**
 * What a node may do when whoever makes it says nothing and has no limit of their own: everything that a run may be
 * given. Spelled out rather than `*`, so that the token of an agent is never the owner's.
 */
export const runtimeVocabulary = ['svc:llm', 'svc:act', 'svc:schedule', 'svc:memory:rw:user'] as const

/**
 * The scopes of a new node: inherited when none are asked for, else those asked for, which must lie inside the ceiling
 * of the creator and of the parent.
 *
 * @throws SvcError scope_exceeds_ceiling naming each scope outside; validation_failed for an unknown scope, or for
 * `svc:act` without `svc:llm`.
 */
export const grantScopes = (
  creator: readonly string[],
  parent: readonly string[] | undefined,
  asked: readonly string[] | undefined,
): string[] => {
  const ceilings = [creator, ...(parent ? [parent] : [])]
  if (asked === undefined) {
    const whole = parent ?? (creator.includes('*') ? runtimeVocabulary : creator)
    return intersect(whole, creator)
  }
  // `*` is the owner's own and no scope that anything else is given
  const everything = asked.indexOf('*')
  if (everything >= 0) {
    throw new SvcError('validation_failed', undefined, {
      errors: [{ pointer: `/scopes/${everything}`, message: '"*" is not a scope' }],
    })
  }
  const scopes = checkScopes(asked)
  const outside = scopes.filter((scope) => !ceilings.every((ceiling) => covers(ceiling, scope)))
  if (outside.length > 0) throw new SvcError('scope_exceeds_ceiling', undefined, { scopes: outside })
  return scopes
}
