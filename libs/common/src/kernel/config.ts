import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

/** An address, or a range as `10.0.0.0/8`. */
const isRange = (text: string): boolean => {
  const [address = '', bits, more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more !== undefined) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
}

/** `host:port`, with brackets around an IPv6 host. */
const listen = z.string().regex(/^(\[[0-9a-f:]+\]|[^:\s]+):\d{1,5}$/i, 'must be host:port')
const count = z.coerce.number().int().min(0)
const ms = count

const sandboxModes = ['auto', 'bubblewrap', 'account', 'none'] as const
export type SandboxMode = (typeof sandboxModes)[number]

/**
 * Every setting of the daemon. Each stands in the environment, or in `svc.config.json` of the data directory by the
 * same name; the environment wins. An unknown name that starts with `SVC_` is refused, so that a typo can't be ignored.
 */
export const settings = z.strictObject({
  SVC_DATA_DIR: z.string().startsWith('/').default(join(homedir(), '.local/share/svc')),
  SVC_OWNER_LISTEN: listen.default('127.0.0.1:7420'),
  SVC_APP_LISTEN: listen.default('127.0.0.1:7421'),
  DATABASE_URL: z.string().optional(),
  /** Whether every service has an account of its own on the server of DATABASE_URL, or all come in as its own account. */
  SVC_DATABASE_ROLES: z.enum(['own', 'shared']).default('own'),
  NATS_URL: z.string().optional(),
  REDIS_URL: z.string().optional(),
  /** Whether missing servers are installed from the system's packages, which root can do. */
  SVC_INSTALL_PACKAGES: z.enum(['auto', 'never']).default('auto'),
  SVC_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal']).default('info'),
  SVC_HEALTH_LISTEN: listen.optional(),
  /** Base URL that brokers and clients use; made from SVC_OWNER_LISTEN unless given. */
  SVC_BASE_URL: z.url().optional(),
  /** Names this machine's host; one host a machine. */
  SVC_HOST_ID: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .default('local'),
  /** Names this writer: the same name takes its own lease over at once, another waits until it runs out. */
  SVC_LEASE_HOLDER: z.string().min(1).optional(),
  SVC_CREDENTIALS_KEY_FILE: z.string().optional(),
  SVC_NODE_TOKEN_KEY_FILE: z.string().optional(),
  /** What secrets of webhooks are derived from. */
  SVC_SIGNING_KEY_FILE: z.string().optional(),
  SVC_OWNER_TOKEN_FILE: z.string().optional(),
  /** Where the owner's personas are, files `<kind>.md`; `personas` in the data directory unless given. */
  SVC_PERSONAS_DIR: z.string().startsWith('/').optional(),
  /** Extra Host header values that both listeners answer to, comma-separated. */
  SVC_ALLOWED_HOSTS: z.string().optional(),
  /** Addresses and ranges of proxies that are believed in whom they speak for, comma-separated. */
  SVC_TRUSTED_PROXIES: z
    .string()
    .refine((list) => list.split(',').every((part) => isRange(part.trim())), 'must be addresses or ranges, with commas')
    .optional(),
  /** Certificate (with its chain) and key, in PEM, that listeners besides loopback serve TLS with; both or none. */
  SVC_TLS_CERT_FILE: z.string().startsWith('/').optional(),
  SVC_TLS_KEY_FILE: z.string().startsWith('/').optional(),
  /** Connections that one address besides loopback and trusted proxies may have open at once. */
  SVC_CONNECTIONS_PER_ADDRESS: count.min(1).default(1000),
  /** What holds the programs of nodes; `auto` takes the best that works, the others refuse to start without. */
  SVC_SANDBOX: z.enum(sandboxModes).default('auto'),
  /** Directories that every node may read besides the system's own, with colons between: toolchains, for instance. */
  SVC_SANDBOX_SHOW: z.string().optional(),
  /** Processes that one command of a node may have at once. */
  SVC_SANDBOX_PROCESSES: count.min(16).default(4096),
  /** Memory in MiB that one process of a node may have; 0: as much as the machine has. */
  SVC_SANDBOX_MEMORY_MB: count.default(0),
  /** Numbers of the system accounts that nodes are given where namespaces can't be had. */
  SVC_ACCOUNT_RANGE: z
    .string()
    .regex(/^\d{1,9}-\d{1,9}$/, 'must be <number>-<number>')
    .default('200000-265535'),
  /** Days for which the home and temporary files of a node are kept after its last process. */
  SVC_NODE_FILES_DAYS: count.min(1).default(30),
  /** Days for which ended nodes are kept with all that they did; 0: until somebody prunes them. */
  SVC_KEEP_NODES_DAYS: count.default(0),
  /** Days for which the text of a model's answer is kept apart from the journal; 0: for ever. */
  SVC_KEEP_ANSWERS_DAYS: count.default(30),
  /** Days for which resolved questions are kept; 0: for ever. */
  SVC_KEEP_QUESTIONS_DAYS: count.default(90),
  /** Days for which it is kept what became of each slot of a schedule; 0: for ever. */
  SVC_KEEP_FIRES_DAYS: count.default(90),
  /** Days for which events and acknowledged deliveries of objects are kept; 0: for ever. */
  SVC_KEEP_DELIVERIES_DAYS: count.default(30),
  /** Days for which lines of the audit log are kept; 0: for ever. */
  SVC_KEEP_AUDIT_DAYS: count.default(365),
  SVC_BROKER_CAP: count.default(64),
  SVC_BROKER_WARM: count.default(1),
  SVC_BROKER_REUSE: count.default(500),
  /** Commands of `POST /v1/bash` that one host runs at once. */
  SVC_BASH_CAP: count.default(64),
  SVC_BOOT_GRACE_MS: ms.default(20_000),
  SVC_RECONCILE_MS: ms.default(2000),
  /** How long a turn may go on after its node asked for a fresh context. */
  SVC_REFRESH_MS: ms.default(180_000),
  SVC_LAUNCH_BUDGET: count.default(5),
  SVC_LAUNCH_WINDOW_MS: ms.default(600_000),
  SVC_LAUNCH_CONCURRENCY: count.default(8),
  /** How long a model may think before its first word; then the next one on the ladder is asked. */
  SVC_FIRST_TOKEN_MS: ms.default(180_000),
  SVC_BODY_LIMIT: count.default(1024 * 1024),
  /** Requests a minute of one token that isn't the owner's; 0: as many as it likes. */
  SVC_RATE_LIMIT: count.default(600),
  /** Wrong tokens a minute that one address may show before it is told to wait; 0: as many as it likes. */
  SVC_AUTH_FAILURE_LIMIT: count.default(60),
  SVC_SSE_CLIENTS: count.default(1000),
})
export type Settings = z.infer<typeof settings>

/** Names that belong to clients and to the tests, not to the daemon. */
const foreign =
  /^SVC_(TOKEN|TOKEN_FILE|NODE_ID|SCOPES|TEST_\w+|BROKER_MARK|JOB_MARK|DATA_MARK|CONFIG|DELIVERY_ID|EVENT)$/

const readFile = (path: string): Record<string, unknown> => {
  if (!existsSync(path)) return {}
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    throw new Error(`${path} is not a JSON object of settings`, { cause })
  }
}

/**
 * Reads and checks the settings.
 *
 * @throws Error that names each unknown or invalid setting.
 */
export const loadSettings = (env: NodeJS.ProcessEnv = process.env): Settings => {
  const known = Object.keys(settings.shape)
  const fromEnv = Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) =>
        value !== undefined &&
        value !== '' &&
        (known.includes(name) || (name.startsWith('SVC_') && !foreign.test(name))),
    ),
  )
  const dataDir = (fromEnv.SVC_DATA_DIR as string | undefined) ?? settings.shape.SVC_DATA_DIR.parse(undefined)
  const fromFile = readFile(env.SVC_CONFIG ?? join(dataDir, 'svc.config.json'))
  const parsed = settings.safeParse({ ...fromFile, ...fromEnv })
  if (!parsed.success) throw new Error(`The configuration is not valid:\n${z.prettifyError(parsed.error)}`)
  return parsed.data
}

/** The settings of this process as a Nest provider's token. */
export const SETTINGS = Symbol('settings')

/** Addresses that stand for all of a machine's own: one can listen there, and call there nowhere but on some systems. */
const reachable: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }

/** Where clients and brokers of this machine reach the owner's listener, unless `SVC_BASE_URL` says it. */
export const baseUrlOf = (config: Pick<Settings, 'SVC_BASE_URL' | 'SVC_OWNER_LISTEN'>): string => {
  if (config.SVC_BASE_URL) return config.SVC_BASE_URL
  const [, host = '', port] = /^(.*):(\d+)$/.exec(config.SVC_OWNER_LISTEN) ?? []
  return `http://${reachable[host] ?? host}:${port}`
}
