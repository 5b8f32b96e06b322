import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Serve } from '../host-link.js'

/** The `svc` command stands in `bin/` beside the `dist/` that this program was bundled into. */
const commandDirectory = join(dirname(fileURLToPath(import.meta.url)), '..', 'bin')

const usualPath = '/usr/local/bin:/usr/bin:/bin'

/**
 * What every tool of the node starts with, besides what its plan sets: where the daemon is and who it is, and nothing else
 * of anybody's. What `extra` names overrides the plan, but for how its processes are found again.
 */
export const toolEnvironment = (
  { base_url, token, node_id, plan }: Pick<Serve, 'base_url' | 'token' | 'node_id' | 'plan'>,
  extra: Readonly<Record<string, string>> = {},
  own: NodeJS.ProcessEnv = process.env,
): Record<string, string> => ({
  // A bash whose input is a socket, as ours are, takes itself for a remote login at level 1 and reads .bashrc.
  SHLVL: '1',
  ...extra,
  PATH: [...new Set([commandDirectory, ...(extra.PATH ?? plan.env.PATH ?? usualPath).split(':')])].join(':'),
  ...(own.SVC_DATA_MARK !== undefined && { SVC_DATA_MARK: own.SVC_DATA_MARK }),
  SVC_BASE_URL: base_url,
  SVC_TOKEN: token,
  SVC_NODE_ID: node_id,
})
