import { type ConnectionFlags, connect, givenToken } from '../connection.js'
import type { Shell } from '../shell.js'

/** Who calls, as far as it is known here; what it may do at the end is the daemon's to say. */
export interface Rights {
  readonly kind: 'owner' | 'app' | 'run' | 'node' | 'pub'
  /** Undefined where they aren't known. */
  readonly scopes: readonly string[] | undefined
  /** Whether this runs as a tool of a node, which has no business with the daemon itself. */
  readonly inNode: boolean
}

/** Answers before the help is late (ms). */
const patience = 500

const kinds: Readonly<Record<string, Rights['kind']>> = {
  own: 'owner',
  app: 'app',
  run: 'run',
  node: 'node',
  pub: 'pub',
}

/**
 * Without asking anybody: a node's tools are told their scopes, and a token says its kind. Where none is given it is the
 * owner's own, or that of a daemon still to be started.
 */
export const localRights = (shell: Shell, flags: ConnectionFlags): Rights => {
  const inNode = shell.nodeId !== undefined
  if (inNode && flags.token === undefined) return { kind: 'node', scopes: shell.scopes, inNode }
  const token = givenToken(shell.env, flags)
  const kind = token ? (kinds[token.split('_')[1] ?? ''] ?? 'owner') : 'owner'
  return { kind, scopes: kind === 'owner' ? ['*'] : undefined, inNode }
}

/** As the daemon says, where only it knows; what is known here when it is away or slow. */
export const askedRights = async (shell: Shell, flags: ConnectionFlags): Promise<Rights> => {
  const local = localRights(shell, flags)
  if (local.scopes !== undefined) return local
  const svc = await connect(shell, flags)
  return svc.request<Omit<Rights, 'inNode'>>('GET', '/v1/token', undefined, { timeout: patience, maxRetries: 0 }).then(
    ({ kind, scopes }) =>
      Object.values(kinds).includes(kind) && Array.isArray(scopes) ? { kind, scopes, inNode: local.inNode } : local,
    () => local,
  )
}
