import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type DataDirectory, privateDirectory } from './data-directory.js'
import type { ProcessSpec } from './detached-process.js'
import { ensureSecretFile, writePrivateFile } from './private-file.js'
import { probe } from './server-probe.js'
import type { ServerProgram } from './server-programs.js'

export interface RedisServer {
  spec: ProcessSpec
  /** A path with its password as a query: the form of a unix socket that ioredis takes. */
  url: string
}

/** Redis on a unix socket alone, with every write in an append-only file that is synced each second. */
export function redisServer(data: DataDirectory, program: ServerProgram): RedisServer {
  const password = ensureSecretFile(join(data.secrets, 'redis.password'))
  const directory = privateDirectory(join(data.path, 'redis'))
  const configFile = join(data.secrets, 'redis.conf')
  const socket = join(data.sockets, 'redis.sock')
  const config = configText(program.at(directory), program.at(socket), password)
  return {
    url: `${socket}?password=${password}`,
    spec: {
      name: 'redis',
      ...program.command({ args: [program.at(configFile)], mounts: [data.secrets, directory, data.sockets] }),
      fingerprint: createHash('sha256').update(config).digest('hex'),
      stopSignal: 'SIGTERM',
      stopGraceMs: 10_000,
      readyWithinMs: 60_000,
      prepare: async () => {
        await program.prepare('redis')
        writePrivateFile(configFile, config)
      },
      // A server that still loads its file answers the PING with -LOADING.
      probe: () => probe({ path: socket }, `AUTH ${password}\r\nPING\r\n`, '+OK\r\n+PONG'),
    },
  }
}

/**
 * `hz 100`: at the default of 10 a lone timer fires up to 100 ms late. No title: Redis writes it over its environment,
 * by whose mark a process without a pid file is found.
 */
function configText(directory: string, socket: string, password: string): string {
  return [
    'port 0',
    `unixsocket "${socket}"`,
    'unixsocketperm 700',
    `dir "${directory}"`,
    `requirepass ${password}`,
    'daemonize no',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    'maxmemory-policy noeviction',
    'hz 100',
    'always-show-logo no',
    'set-proc-title no',
    '',
  ].join('\n')
}
