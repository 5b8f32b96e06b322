import { UsageError } from '../failure.js'

/** Where one scope ends and the next begins: at blanks, and at a comma only before what looks like a scope, since a path may hold one. */
const between = /\s+|,(?=\s*[A-Za-z0-9][\w.-]*:)/

/** Scopes as people write them: one an argument, or several in one, separated by commas or blanks. */
export const scopesOf = (words: readonly string[]): string[] =>
  words.flatMap((word) => word.split(between)).filter((scope) => scope !== '')

export interface GrantChange {
  readonly add?: readonly string[]
  readonly drop?: readonly string[]
  readonly nothing?: boolean
}

/**
 * The list that a grant shall hold.
 *
 * @throws UsageError when nothing says so, or two things do.
 */
export const changedScopes = (
  held: { readonly scopes: readonly string[]; readonly status: 'active' | 'revoked' },
  named: readonly string[],
  { add = [], drop = [], nothing = false }: GrantChange,
): string[] => {
  const changes = add.length > 0 || drop.length > 0
  if ([named.length > 0, changes, nothing].filter(Boolean).length > 1)
    throw new UsageError('name the whole list, or --add and --drop, or --nothing')
  if (nothing) return []
  if (named.length > 0) return scopesOf(named)
  if (!changes && held.status === 'active')
    throw new UsageError('which scopes?', 'name them, or what to --add or --drop; --nothing for an empty grant')
  const dropped = scopesOf(drop)
  const absent = dropped.find((scope) => !held.scopes.includes(scope))
  if (absent)
    throw new UsageError(`the grant does not hold ${absent}`, `it holds ${held.scopes.join(' ') || 'nothing'}`)
  return [...held.scopes.filter((scope) => !dropped.includes(scope)), ...scopesOf(add)]
}
