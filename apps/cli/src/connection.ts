import type { Client } from '#sdk/index.js'
import { UsageError } from './failure.js'
import { httpFetch } from './http.fetch.js'
import { fileText } from './input.js'
import { localDaemon, ownerToken } from './local/data-directory.js'
import type { Shell } from './shell.js'

export interface ConnectionFlags {
  readonly baseUrl?: string
  readonly token?: string
}

export interface Connection {
  readonly baseUrl: string
  readonly token: string | undefined
}

const sameOrigin = (one: string, other: string): boolean => new URL(one).origin === new URL(other).origin

/**
 * The token that the caller gave, by `--token`, SVC_TOKEN, or the file that SVC_TOKEN_FILE names.
 *
 * @throws UsageError when the file can't be read, or is empty
 */
export const givenToken = (env: NodeJS.ProcessEnv, flags: ConnectionFlags): string | undefined =>
  flags.token ?? (env.SVC_TOKEN || (env.SVC_TOKEN_FILE ? tokenIn(env.SVC_TOKEN_FILE) : undefined))

const tokenIn = (path: string): string => {
  const token = fileText(path).trim()
  if (token === '') throw new UsageError(`${path} holds no token`, 'SVC_TOKEN_FILE names a file with a token in it')
  return token
}

/**
 * Where to and with which token: flags, then the environment, then the daemon of this machine. The owner's token is read
 * only for the daemon that it belongs to, and never on behalf of an agent inside a node.
 *
 * @throws UsageError for an address that isn't one, or a file of a token that can't be read
 */
export const resolveConnection = ({ env, nodeId }: Shell, flags: ConnectionFlags = {}): Connection => {
  const local = localDaemon(env)
  const baseUrl = flags.baseUrl ?? (env.SVC_BASE_URL || local.baseUrl)
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)) {
    throw new UsageError(`${baseUrl} is no address of a daemon`, 'give one like http://127.0.0.1:7420')
  }
  const given = givenToken(env, flags)
  const mayUseOwners = nodeId === undefined && sameOrigin(baseUrl, local.baseUrl)
  return { baseUrl, token: given ?? (mayUseOwners ? ownerToken(local) : undefined) }
}

export const connect = async (shell: Shell, flags?: ConnectionFlags): Promise<Client> => {
  const { Client } = await import('#sdk/index.js')
  const { baseUrl, token } = resolveConnection(shell, flags)
  return new Client({ baseUrl, fetch: httpFetch, ...(token !== undefined && { token }) })
}
