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
  readonly disableUserns?: boolean
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
  const refusal = await refusalOf(bwrap, [])
  if (refusal !== undefined) return `bubblewrap can't make namespaces: ${refusal}`
  const disableUserns = (await refusalOf(bwrap, ['--disable-userns'])) === undefined
  return { level: 'bubblewrap', detail: bwrap, bwrap, disableUserns }
}

const tryAccount = (why: string): SandboxLevel | undefined =>
  process.getuid?.() === 0
    ? { level: 'account', detail: `each node has a system account of its own, for ${why}` }
    : undefined

/**
 * The best level that works here, or the one that the owner named.
 *
 * @throws Error when the named one doesn't work.
 */
export const findSandboxLevel = async (mode: SandboxMode): Promise<SandboxLevel> => {
  if (mode === 'none') return { level: 'none', detail: 'SVC_SANDBOX=none' }
  if (mode === 'account') {
    const account = tryAccount('SVC_SANDBOX=account')
    if (!account)
      throw new Error('SVC_SANDBOX=account: only a host that runs as root can give nodes accounts of their own')
    return account
  }
  const found = await tryBubblewrap()
  if (typeof found !== 'string') return found
  if (mode === 'bubblewrap') throw new Error(`SVC_SANDBOX=bubblewrap: ${found}`)
  return tryAccount(found) ?? { level: 'none', detail: found }
}
