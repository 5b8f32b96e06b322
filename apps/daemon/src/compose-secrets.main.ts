import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServiceName } from '#common/contract/define.js'
import { roleNameOf } from '#common/kernel/database/service-roles.js'
import { natsConfigText } from '#common/kernel/servers/nats-config.js'
import { ensureSecretFile, randomPassword } from '#common/kernel/servers/private-file.js'
import { permissionsOf } from '#common/kernel/subjects.js'
import { services } from './services.js'

// One shot, for docker-compose.yml: makes the secrets of a deployment on its first start and hands each container the
// ones that it needs. Every audience has a volume of its own below the directory that the argument names; a volume is
// mounted by one container alone, so that its files may be read by whatever account that container runs as.
const [root] = process.argv.slice(2)
if (!root) throw new Error('usage: compose-secrets.main.js <directory of the volumes>')

const vault = join(root, 'vault')
mkdirSync(vault, { recursive: true, mode: 0o700 })
const secret = (name: string, generate = randomPassword): string => ensureSecretFile(join(vault, name), generate)
const key = (name: string): string => secret(name, () => randomBytes(32).toString('base64'))

const postgres = secret('postgres.password')
const redis = secret('redis.password')
const databaseUrl = (user: string, password: string): string => `postgresql://${user}:${password}@postgres:5432/svc`
const rolePasswordOf = (service: ServiceName): string => secret(`postgres.${service}.password`)
const redisUrl = `redis://:${redis}@redis:6379`
const passwordOf = (account: string): string => secret(`nats.${account}.password`)
const natsUrl = (account: ServiceName): string => `nats://${account}:${passwordOf(account)}@nats:4222`
const accounts: ServiceName[] = [...services.map(({ name }) => name), 'host']

hand('postgres', { password: postgres })
hand('redis', { password: redis, 'redis.conf': redisConfig(redis) })
hand('nats', {
  'nats.conf': natsConfigText({
    host: '0.0.0.0',
    port: 4222,
    serverName: 'svc',
    accounts: accounts.map((name) => ({ name, ...permissionsOf(name) })),
    passwordOf,
    monitorPort: 8222,
  }),
})
hand('migrate', {
  database_url: databaseUrl('svc', postgres),
  ...Object.fromEntries(services.map(({ name }) => [`${name}.password`, rolePasswordOf(name)])),
})
const [uid, gid] = (process.env.HOST_OWNER ?? '0:0').split(':').map(Number) as [number, number]
if (!Number.isInteger(uid) || !Number.isInteger(gid)) throw new Error('HOST_OWNER must be uid:gid in numbers')
// The host runs what agents ask for: it gets its way to the bus and nothing else, closed to the accounts of nodes.
hand('host', { nats_url: natsUrl('host') }, { uid, gid })
const keys: Partial<Record<ServiceName, Record<string, string>>> = {
  gateway: { 'node-token.key': key('node-token.key') },
  lifecycle: { 'node-token.key': key('node-token.key') },
  models: { 'credentials.key': key('credentials.key') },
  objects: { 'signing.key': key('signing.key') },
}
for (const { name } of services) {
  hand(name, {
    database_url: databaseUrl(roleNameOf('svc', 'svc', name), rolePasswordOf(name)),
    redis_url: redisUrl,
    nats_url: natsUrl(name),
    ...keys[name],
  })
}

// The host's own volume belongs to the account that it runs as, which the image can't know.
const hostData = join(root, 'host-data')
mkdirSync(hostData, { recursive: true })
chownSync(hostData, uid, gid)

function hand(audience: string, files: Record<string, string>, only?: { uid: number; gid: number }): void {
  const directory = join(root ?? '', audience)
  mkdirSync(directory, { recursive: true })
  const place = (path: string, mode: number): void => {
    chmodSync(path, mode)
    if (only) chownSync(path, only.uid, only.gid)
  }
  place(directory, only ? 0o500 : 0o755)
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), `${content}\n`)
    place(join(directory, name), only ? 0o400 : 0o444)
  }
}

function redisConfig(password: string): string {
  return [
    'bind * -::*',
    `requirepass ${password}`,
    'dir /data',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    'maxmemory-policy noeviction',
    'hz 100',
  ].join('\n')
}
