import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { baseUrlOf, type Settings } from '#common/kernel/config.js'
import type { Logger } from '#common/kernel/log.js'
import type { DataDirectory } from '#common/kernel/servers/data-directory.js'
import { readIfPresent } from '#common/kernel/servers/private-file.js'
import { findByEnvironment } from '#common/kernel/servers/process-identity.js'
import { SupervisedProcess } from '#common/kernel/servers/supervised-process.js'
import { version } from '#common/kernel/version.js'
import { hostFlags } from './node-flags.js'
import { projectRoot } from './project-root.js'

export interface HostOptions {
  data: DataDirectory
  settings: Settings
  natsUrl: string
  log: Logger
}

/** The host needs the person's environment for the programs that nodes run, but none of the daemon's own secrets. */
const withheld = /^(DATABASE_URL|REDIS_URL|NATS_URL)(_FILE)?$|^SVC_(TOKEN|\w+_KEY_FILE|OWNER_TOKEN_FILE|NODE_ID)$/
/** Settings that a host reads at its start and keeps. */
const ofHost = /^SVC_(SANDBOX|ACCOUNT|BROKER|BASH|NODE_FILES)/
/** Time for a host that stops for good to end its brokers and to confirm that their trees are gone. */
const stopGraceMs = 30_000

/**
 * The host beside the services: a process of its own, which outlives them with all brokers in it and is adopted by the
 * next daemon. One of another version, bus address or settings is replaced once it hosts no node and runs no job.
 */
export function hostProcess(options: HostOptions): SupervisedProcess {
  const { data, settings, natsUrl, log } = options
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || withheld.test(name) ? [] : [[name, value]],
    ),
  )
  return new SupervisedProcess(
    {
      name: 'host',
      command: process.execPath,
      args: [...hostFlags, join(projectRoot, 'dist/apps/host/src/main.js')],
      env: {
        ...env,
        SVC_DATA_DIR: data.path,
        SVC_BASE_URL: baseUrlOf(settings),
        SVC_HOST_ID: settings.SVC_HOST_ID,
        SVC_LOG_LEVEL: settings.SVC_LOG_LEVEL,
        NATS_URL: natsUrl,
      },
      fingerprint: fingerprintOf(settings, natsUrl),
      stopSignal: 'SIGTERM',
      stopGraceMs,
      readyWithinMs: 10_000,
      // Lifecycle hears of the host by its hello on the bus; until then launches wait.
      probe: async () => undefined,
      mayReplace: async () => !hostsNodes(data),
    },
    data,
    log,
  )
}

function fingerprintOf(settings: Settings, natsUrl: string): string {
  const own = Object.entries(settings).filter(([name]) => ofHost.test(name))
  return createHash('sha256')
    .update(JSON.stringify([version, natsUrl, own.toSorted()]))
    .digest('hex')
}

/**
 * The host keeps the number of nodes that it hosts, with that of jobs that it runs, in `run/host.json` (`{"nodes": 2}`).
 * Without that word each living broker and job counts.
 */
function hostsNodes(data: DataDirectory): boolean {
  const text = readIfPresent(join(data.run, 'host.json'))
  const nodes = text === undefined ? undefined : (JSON.parse(text) as { nodes?: unknown }).nodes
  if (typeof nodes === 'number') return nodes > 0
  return findByEnvironment('SVC_DATA_MARK', data.mark).some((process) => isHosted(process.pid))
}

function isHosted(pid: number): boolean {
  return /\0SVC_(BROKER|JOB)_MARK=/.test(readIfPresent(`/proc/${pid}/environ`) ?? '')
}
