import { createHash, randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { DataDirectory } from './data-directory.js'
import type { ProcessSpec } from './detached-process.js'
import { type NatsAccount, natsConfigText } from './nats-config.js'
import { ensureSecretFile, readIfPresent, writePrivateFile } from './private-file.js'
import { isAlive, parseIdentity } from './process-identity.js'
import { probe } from './server-probe.js'
import type { ServerProgram } from './server-programs.js'

export interface NatsServer {
  spec: ProcessSpec
  url(account?: string): string
}

/** Below the range that the kernel takes for outgoing connections, so that a kept port stays free. */
const portRange = [20_000, 32_000] as const

/** NATS core on a kept loopback port: it has no unix sockets. Nothing is stored, the rows in Postgres are the record. */
export async function natsServer(
  data: DataDirectory,
  program: ServerProgram,
  accounts: NatsAccount[],
): Promise<NatsServer> {
  const portFile = join(data.run, 'nats.port')
  const port = await keptPort(portFile, join(data.run, 'nats.pid'))
  const passwordOf = (account: string) => ensureSecretFile(join(data.secrets, `nats.${account}.password`))
  const configFile = join(data.secrets, 'nats.conf')
  const config = natsConfigText({ host: '127.0.0.1', port, serverName: data.mark, accounts, passwordOf })
  return {
    url: (account = 'svc') => `nats://${account}:${passwordOf(account)}@127.0.0.1:${port}`,
    spec: {
      name: 'nats',
      ...program.command({ args: ['-c', program.at(configFile)], mounts: [data.secrets] }),
      fingerprint: createHash('sha256').update(config).digest('hex'),
      stopSignal: 'SIGTERM',
      stopGraceMs: 5_000,
      readyWithinMs: 10_000,
      prepare: async () => {
        await program.prepare('nats')
        writePrivateFile(configFile, config)
      },
      probe: () => probe({ host: '127.0.0.1', port }, '', 'INFO '),
    },
  }
}

/** The port of the last start, unless someone else listens there now; then a free one at random, which is kept. */
async function keptPort(portFile: string, pidFile: string): Promise<number> {
  const kept = Number(readIfPresent(portFile))
  if (kept && (isOurs(pidFile) || (await isFree(kept)))) return kept
  for (;;) {
    const port = randomInt(...portRange)
    if (!(await isFree(port))) continue
    writePrivateFile(portFile, String(port))
    return port
  }
}

function isOurs(pidFile: string): boolean {
  const identity = parseIdentity(readIfPresent(pidFile) ?? '')
  return identity !== undefined && isAlive(identity)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port }, () => server.close(() => resolve(true)))
  })
}
