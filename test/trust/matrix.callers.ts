import type { Row } from './route.table.js'

/** One who asks, as far as what it may do depends on it. */
export interface Caller {
  readonly name: string
  readonly token: string | undefined
  /** The node that its paths name. */
  readonly node: string
  /** The code for a token that is none, or none any more; nothing else is looked at then. */
  readonly refused?: string
  readonly kind?: 'owner' | 'app' | 'node' | 'pub'
  /** What it may do now: its own list within the grant of its app. */
  readonly scopes: readonly string[]
  /** Its app's grant was revoked. */
  readonly grantRevoked?: true
  /** Of a node: whether the paths name itself, and whether its process is the newest. */
  readonly itself?: boolean
  readonly newest?: boolean
}

/** A scope that a revoked grant took is not one to ask for. */
const withoutScope = ({ grantRevoked }: Caller): string => (grantRevoked ? 'grant_revoked' : 'scope_missing')

/** `pass`, or the code of the refusal, by the rules that the contract's text states. */
export const expected = ({ on, passes }: Row, listener: 'owner' | 'app', caller: Caller): string => {
  if (!on.includes(listener)) return 'listener_forbidden'
  if (passes.by === 'anyone') return 'pass'
  if (caller.refused) return caller.refused
  // an app may still ask what it has, which is nothing; what is the owner's alone no grant would open
  const forgiven = ['bearer', 'app', 'owner'].includes(passes.by)
  if (caller.kind === 'app' && caller.grantRevoked && !forgiven) return 'grant_revoked'
  if (passes.by === 'bearer') return 'pass'
  if (caller.kind === 'pub') return passes.by === 'pubOr' ? 'pass' : 'publish_token_only'
  const itself = caller.kind === 'node' && caller.itself === true
  const holds = (scope: string): boolean => caller.kind === 'owner' || caller.scopes.includes(scope)
  switch (passes.by) {
    case 'holder':
      return 'pass'
    case 'owner':
      return caller.kind === 'owner' ? 'pass' : 'owner_required'
    case 'app':
      return caller.kind === 'app' ? 'pass' : 'app_token_required'
    case 'self':
      return itself ? 'pass' : 'node_token_required'
    case 'paid':
      if (caller.grantRevoked) return 'grant_revoked'
      return expected({ on, passes: { by: 'process' } }, listener, caller)
    case 'process':
      return !itself ? 'node_token_required' : caller.newest ? 'pass' : 'stale_generation'
    case 'selfOr':
      return itself || holds(passes.scope) ? 'pass' : withoutScope(caller)
    case 'scope':
    case 'pubOr':
      return holds(passes.scope) ? 'pass' : withoutScope(caller)
  }
}
