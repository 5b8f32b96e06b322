import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Client } from '#sdk/index.js'
import { readText } from './data-directory.js'
import type { Finding } from './finding.js'

/** As `GET /v1/sandbox` answers. */
export interface SandboxStatus {
  readonly hosts: readonly { host_id: string; level: 'bubblewrap' | 'account' | 'none'; detail: string }[]
  readonly sentence: string
  readonly consent: { readonly words: string; readonly by: string; readonly at: string } | null
}

const held = {
  bubblewrap: 'bubblewrap: programs of nodes see the system read-only, their own directories and what is mounted',
  account:
    "accounts: programs of nodes reach no files but their own and what is mounted; they see the machine's processes, and git hooks in their directories are theirs to change",
  none: 'nothing: programs of nodes may do whatever the account of the daemon may do',
} as const

/** The settings of the kernel that refuse namespaces to everybody but root, each with what mends it. */
const switches = [
  ['kernel/unprivileged_userns_clone', '0', 'sudo sysctl -w kernel.unprivileged_userns_clone=1'],
  ['user/max_user_namespaces', '0', 'sudo sysctl -w user.max_user_namespaces=15000'],
  [
    'kernel/apparmor_restrict_unprivileged_userns',
    '1',
    'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that lets bwrap make them',
  ],
] as const

const inContainer = (): boolean => existsSync('/.dockerenv') || existsSync('/run/.containerenv')

/** What keeps bubblewrap from working here, and how that is mended. */
const remedyHere = (): string => {
  const found = switches.find(([name, refusing]) => readText(`/proc/sys/${name}`)?.trim() === refusing)
  if (found) return found[2]
  return inContainer()
    ? 'give the container user namespaces: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined'
    : 'allow user namespaces to the account of the daemon'
}

/** Whether bubblewrap works for this account; tried, as the host does. */
export const bubblewrapCheck = (bwrap: string | undefined): Finding => {
  const name = 'bubblewrap'
  if (!bwrap) return { name, state: 'warn', detail: 'not installed', remedy: 'sudo apt-get install bubblewrap' }
  const options = ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev']
  const { status, stderr, error } = spawnSync(bwrap, [...options, 'true'], { encoding: 'utf8', timeout: 10_000 })
  if (status === 0) return { name, state: 'ok', detail: bwrap }
  const why = stderr?.trim().split('\n')[0] || error?.message || `it ended with ${status}`
  return { name, state: 'warn', detail: `${bwrap} can't make a sandbox: ${why}`, remedy: remedyHere() }
}

/** What holds the programs of nodes on each host that the daemon has. */
export const sandboxChecks = async (client: Client): Promise<Finding[]> => {
  const { hosts, consent } = await client.request<SandboxStatus>('GET', '/v1/sandbox')
  return hosts.map(({ host_id, level, detail }) => {
    const name = hosts.length === 1 ? 'sandbox' : `sandbox ${host_id}`
    if (level === 'bubblewrap') return { name, state: 'ok', detail: held.bubblewrap }
    const asked = /^SVC_SANDBOX=/.test(detail)
    const remedy = `${asked ? 'take that setting away' : 'make bubblewrap work there (see above)'}, then start the host again: svc sys down --nodes, svc sys up`
    if (level === 'account') return { name, state: 'warn', detail: `${held.account} (${detail})`, remedy }
    const agreed = consent ? `; you consented on ${consent.at.slice(0, 10)}` : ''
    return {
      name,
      state: consent ? 'warn' : 'fail',
      detail: `${held.none} (${detail})${agreed}`,
      remedy: consent ? remedy : `${remedy}, or consent to it: svc sys sandbox --consent`,
    }
  })
}
