import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { signal } from '#common/kernel/servers/process-identity.js'
import type { TestDaemon } from '../support/daemon.js'
import type { TcpProxy } from '../support/tcp-proxy.js'

/** Whose connections can be cut while it goes on itself. */
export const cutTargets = ['daemon', 'nats', 'redis', 'postgres'] as const
export type CutTarget = (typeof cutTargets)[number]

/** Breaks all connections to it; what is returned lets new ones in again. */
export const cut = async (daemon: TestDaemon, edge: TcpProxy, target: CutTarget): Promise<() => Promise<void>> => {
  switch (target) {
    case 'daemon':
      await edge.close()
      return () => edge.open()
    case 'nats':
      return cutNats(daemon)
    case 'redis':
      await cutRedis(daemon)
      return async () => undefined
    case 'postgres':
      await daemon.rows('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
      return async () => undefined
  }
}

/** A server that may have one client alone sends away the others. */
const cutNats = async ({ data, processes }: TestDaemon): Promise<() => Promise<void>> => {
  const file = join(data.secrets, 'nats.conf')
  const config = readFileSync(file, 'utf8')
  const reload = (text: string): void => {
    writeFileSync(file, text)
    const server = processes.find('nats')
    if (server) signal(server, 'SIGHUP')
  }
  reload(`${config}max_connections: 1\n`)
  return async () => reload(config)
}

const cutRedis = async ({ data }: TestDaemon): Promise<void> => {
  const password = readFileSync(join(data.secrets, 'redis.password'), 'utf8').trim()
  const socket = connect(join(data.sockets, 'redis.sock'))
  socket.on('error', () => undefined)
  const over = once(socket, 'close')
  socket.resume()
  const kills = ['normal', 'pubsub'].map((type) => `CLIENT KILL TYPE ${type} SKIPME yes\r\n`)
  socket.end(`AUTH ${password}\r\n${kills.join('')}QUIT\r\n`)
  await over
}
