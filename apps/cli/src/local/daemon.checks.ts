import type { Client, SvcError, SystemStatus } from '#sdk/index.js'
import type { Finding } from './finding.js'
import { sandboxChecks } from './sandbox.checks.js'
import { trustChecks } from './trust.checks.js'

/** What only a running daemon can say. */
export const daemonChecks = async (client: Client): Promise<Finding[]> => {
  try {
    const { status, readiness } = await client.auth.status({ maxRetries: 0, timeout: 10_000 })
    const missing = status.parts.filter(({ state }) => state === 'absent')
    const daemon: Finding = status.ready
      ? { name: 'daemon', state: 'ok', detail: `${status.version} at ${status.base_url}` }
      : {
          name: 'daemon',
          state: 'fail',
          detail: `not ready: ${missing.map(({ name, state }) => `${name} is ${state}`).join(', ')}`,
          remedy: 'its log says why: log/daemon.log in its data directory',
        }
    return [
      daemon,
      ...databaseCheck(status),
      hostCheck(status),
      ...(await sandboxChecks(client)),
      ...(await trustChecks(client)),
      modelCheck(readiness),
      ...schedulerCheck(status),
      ...objectsCheck(status),
    ]
  } catch (error) {
    const { message, remedy, kind } = error as SvcError
    const away = kind === 'connection'
    return [
      {
        name: 'daemon',
        state: away ? 'warn' : 'fail',
        detail: away ? `none answers at ${client.baseUrl}` : message,
        remedy: away ? 'svc sys up' : (remedy ?? 'svc sys connect'),
      },
    ]
  }
}

const databaseCheck = ({ parts }: SystemStatus): Finding[] =>
  parts
    .filter(({ name, state }) => name === 'database' && state === 'degraded')
    .map(({ detail }) => ({
      name: 'database',
      state: 'warn',
      detail: detail ?? 'not as svc needs it',
      remedy:
        'let its account make roles (ALTER ROLE … CREATEROLE), unset SVC_DATABASE_ROLES, then svc sys down && svc sys up',
    }))

const schedulerCheck = ({ parts }: SystemStatus): Finding[] =>
  parts
    .filter(({ name, state }) => name === 'scheduler' && state === 'degraded')
    .map(({ detail }) => ({
      name: 'scheduler',
      state: 'warn',
      detail: detail ?? 'its timers are not as svc needs them',
      remedy: 'see that the Redis of REDIS_URL runs, and has maxmemory-policy noeviction, appendonly yes and hz 100',
    }))

const objectsCheck = ({ parts }: SystemStatus): Finding[] =>
  parts
    .filter(({ name, state }) => name === 'objects' && state === 'degraded')
    .map(({ detail }) => ({
      name: 'objects',
      state: 'warn',
      detail: detail ?? 'deliveries wait for a person',
      remedy:
        'svc ledger --kind delivery says which and why, svc custom-object show <ref> how much waits; then svc custom-object replay or resume <ref>, or, of a queue, receive and acknowledge what waits or raise its max_pending',
    }))

const hostCheck = ({ brokers, parts }: SystemStatus): Finding =>
  brokers && parts.every(({ name, state }) => name !== 'host' || state !== 'absent')
    ? {
        name: 'host',
        state: 'ok',
        detail: `${brokers.live} brokers live, ${brokers.warm} warm, at most ${brokers.cap}`,
      }
    : {
        name: 'host',
        state: 'fail',
        detail: 'no host answers: nodes can be created and none can run',
        remedy: 'svc sys down --nodes && svc sys up',
      }

const modelCheck = (
  readiness: { ready: boolean; remedy: string | null; strengths: { model: string | null }[] } | null,
): Finding => {
  if (readiness?.ready) {
    const models = [...new Set(readiness.strengths.flatMap(({ model }) => model ?? []))]
    return { name: 'models', state: 'ok', detail: models.join(', ') }
  }
  const remedy = readiness?.remedy ?? 'svc model add openai --key-file <file>, or svc model add ollama --model <name>'
  return { name: 'models', state: 'warn', detail: 'no model can serve a call; exec nodes need none', remedy }
}
