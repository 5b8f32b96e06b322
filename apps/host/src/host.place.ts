import { randomBytes } from 'node:crypto'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import type { SandboxMode, Settings } from '#common/kernel/config.js'
import { type DataDirectory, openDataDirectory, privateDirectory } from '#common/kernel/servers/data-directory.js'
import type { PoolLimits } from './broker/broker-pool.js'
import { findBrokerProgram } from './broker/broker-program.js'

/** Where this host stands and what it may use. */
export interface HostPlace {
  readonly hostId: string
  /** New at each start of the host. */
  readonly incarnation: string
  readonly dataMark: string
  readonly brokerProgram: string
  readonly brokerLog: string
  /** Brokers that may live at once. */
  readonly cap: number
  readonly pool: PoolLimits
  /** Commands of `POST /v1/bash` that may run at once. */
  readonly bashCap: number
  /** Names the number of nodes that are hosted. */
  readonly nodeCountFile: string
  /** The data directory as the host locks it: its `run` is the host's own. */
  readonly data: DataDirectory
  readonly sandbox: SandboxSettings
}

/** What the owner settled about the sandboxes of nodes. */
export interface SandboxSettings {
  readonly mode: SandboxMode
  /** Shown to nodes besides the system's own directories. */
  readonly shown: readonly string[]
  /** Never shown: files that hold secrets of the daemon. */
  readonly secretFiles: readonly string[]
  readonly limits: { readonly processes: number; readonly memoryBytes: number }
  /** Numbers of the accounts that nodes are given where they have no namespaces. */
  readonly accounts: { readonly from: number; readonly to: number }
  /** Directories of a node that was not here for this long (ms) are removed. */
  readonly keepMs: number
}

export const HOST_PLACE = Symbol('host place')

/** A broker and its tools take about this much of the machine's memory, of which they may have three quarters. */
const memoryOfBroker = 96 * 1024 * 1024

/** Memory that this process may use: of its container where there is one, else of the machine. */
const memory = (): number => {
  const constrained = process.constrainedMemory()
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem()
}

const rangeOf = (text: string): { from: number; to: number } => {
  const [from, to] = text.split('-').map(Number) as [number, number]
  if (from > to || from < 1000)
    throw new Error('SVC_ACCOUNT_RANGE: two numbers of at least 1000, the smaller one first')
  return { from, to }
}

/** Those that the settings name, and those that `<NAME>_FILE` names for a setting that holds a password. */
const secretFilesOf = (settings: Settings, env: NodeJS.ProcessEnv = process.env): string[] =>
  [
    settings.SVC_CREDENTIALS_KEY_FILE,
    settings.SVC_NODE_TOKEN_KEY_FILE,
    settings.SVC_OWNER_TOKEN_FILE,
    ...['DATABASE_URL_FILE', 'NATS_URL_FILE', 'REDIS_URL_FILE', 'SVC_CONFIG'].map((name) => env[name]),
  ].filter((path): path is string => path?.startsWith('/') ?? false)

export const hostPlaceOf = (settings: Settings, brokerProgram = findBrokerProgram()): HostPlace => {
  const data = openDataDirectory(settings.SVC_DATA_DIR)
  const cap = Math.max(1, Math.min(settings.SVC_BROKER_CAP, Math.floor((memory() * 0.75) / memoryOfBroker)))
  return {
    hostId: settings.SVC_HOST_ID,
    incarnation: randomBytes(8).toString('hex'),
    dataMark: data.mark,
    brokerProgram,
    brokerLog: join(data.log, 'broker.log'),
    cap,
    pool: {
      warm: settings.SVC_BROKER_WARM,
      warmCap: settings.SVC_BROKER_WARM + 4,
      reuse: settings.SVC_BROKER_REUSE,
      usedCap: Math.min(32, cap),
    },
    bashCap: settings.SVC_BASH_CAP,
    nodeCountFile: join(data.run, 'host.json'),
    data: { ...data, run: privateDirectory(join(data.run, `host-${settings.SVC_HOST_ID}`)) },
    sandbox: {
      mode: settings.SVC_SANDBOX,
      shown: (settings.SVC_SANDBOX_SHOW ?? '').split(':').filter((path) => path.startsWith('/')),
      secretFiles: secretFilesOf(settings),
      limits: {
        processes: settings.SVC_SANDBOX_PROCESSES,
        memoryBytes: settings.SVC_SANDBOX_MEMORY_MB * 1024 * 1024 || memory(),
      },
      accounts: rangeOf(settings.SVC_ACCOUNT_RANGE),
      keepMs: settings.SVC_NODE_FILES_DAYS * 86_400_000,
    },
  }
}
