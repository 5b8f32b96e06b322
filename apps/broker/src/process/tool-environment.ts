import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Serve } from '../host-link.js'

const kept = ['PATH', 'HOME', 'LANG', 'TZ', 'TERM', 'SVC_DATA_MARK'] as const

/** The `svc` command stands in `bin/` beside the `dist/` that this program was bundled into. */
const commandDirectory = join(dirname(fileURLToPath(import.meta.url)), '..', 'bin')

/** What every tool of the node starts with: where the daemon is and who it is, and nothing else of anybody's. */
export const toolEnvironment = (
  { base_url, token, node_id }: Pick<Serve, 'base_url' | 'token' | 'node_id'>,
  extra: Readonly<Record<string, string>> = {},
  own: NodeJS.ProcessEnv = process.env,
): Record<string, string> => ({
  ...Object.fromEntries(kept.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))),
  // A bash whose input is a socket, as ours are, takes itself for a remote login at level 1 and reads .bashrc.
  SHLVL: '1',
  ...extra,
  PATH: [commandDirectory, extra.PATH ?? own.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(':'),
  SVC_BASE_URL: base_url,
  SVC_TOKEN: token,
  SVC_NODE_ID: node_id,
})
