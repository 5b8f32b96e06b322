import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { SandboxMode } from '#common/kernel/config.js'

const run = promisify(execFile)

/** What this machine can hold a node's programs with, found by trying. */
export interface SandboxLevel {
  readonly level: 'bubblewrap' | 'account' | 'none'
  /** Why it is this one; for people. */
  readonly detail: string
  readonly bwrap?: string
  readonly nestingRefused?: boolean
  readonly takesOpenFiles?: boolean
}

export const SANDBOX_LEVEL = Symbol('sandbox level')

/** Longest time for one trial (ms): it takes 5, and a machine under load takes longer. */
const patience = 10_000

const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try']
const view = [
  ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
]

const findProgram = (name: string, path = process.env.PATH ?? ''): string | undefined =>
  [...path.split(delimiter), '/usr/local/bin', '/usr/bin', '/bin']
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/** Why bubblewrap can't do it with these flags; undefined when it can. */
const refusalOf = async (bwrap: string, more: readonly string[]): Promise<string | undefined> => {
  try {
    await run(bwrap, [...namespaces, ...more, ...view, '--', 'true'], { cwd: '/', timeout: patience })
    return undefined
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    return (stderr?.trim() || message).split('\n')[0]?.slice(0, 300)
  }
}

const tryBubblewrap = async (): Promise<SandboxLevel | string> => {
  const bwrap = findProgram('bwrap')
  if (!bwrap) return 'bubblewrap is not installed'
  const [refusal, nesting, help] = await Promise.all([
    refusalOf(bwrap, []),
    refusalOf(bwrap, ['--disable-userns']),
    run(bwrap, ['--help']).then(
      ({ stdout }) => stdout,
      () => '',
    ),
  ])
  if (refusal !== undefined) return `bubblewrap can't make namespaces: ${refusal}`
  const nestingRefused = nesting === undefined
  const takesOpenFiles = help.includes('--ro-bind-fd')
  return { level: 'bubblewrap', detail: bwrap, bwrap, nestingRefused, takesOpenFiles }
}

/** Why nodes can't have accounts of their own; undefined when they can. */
type AccountTrial = () => Promise<string | undefined>

/**
 * The best level that works here, or the one that the owner named.
 *
 * @throws Error when the named one doesn't work.
 */
export const findSandboxLevel = async (mode: SandboxMode, tryAccounts: AccountTrial): Promise<SandboxLevel> => {
  if (mode === 'none') return { level: 'none', detail: 'SVC_SANDBOX=none' }
  const found = mode === 'account' ? 'SVC_SANDBOX=account' : await tryBubblewrap()
  if (typeof found !== 'string') return found
  if (mode === 'bubblewrap') throw new Error(`SVC_SANDBOX=bubblewrap: ${found}`)
  const refusal = await tryAccounts()
  if (refusal === undefined) return { level: 'account', detail: `each node has a system account of its own: ${found}` }
  if (mode === 'account') throw new Error(`SVC_SANDBOX=account: ${refusal}`)
  return { level: 'none', detail: `${found}; nor can nodes have accounts of their own: ${refusal}` }
}
