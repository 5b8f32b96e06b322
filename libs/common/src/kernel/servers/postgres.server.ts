import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DataDirectory, privateDirectory } from './data-directory.js'
import type { ProcessSpec } from './detached-process.js'
import { clusterExists, createCluster, openTo } from './postgres-cluster.js'
import { ensureSecretFile, readIfPresent, removeIfPresent } from './private-file.js'
import { identify } from './process-identity.js'
import { probe } from './server-probe.js'
import type { Account, ServerProgram } from './server-programs.js'

export interface PostgresServer {
  spec: ProcessSpec
  url: string
}

const role = 'svc'
/** Made by initdb; the cluster is ours alone, so another name would only cost a step. */
const database = 'postgres'
/** The account of the official image; on Debian the package makes one of this name. */
const imageAccount: Account = { uid: 999, gid: 999 }

/**
 * For a home server: little memory, nothing lost at a power cut. Errors are logged without their detail and their
 * statement, which can hold values of rows.
 */
const settings: Record<string, string> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  password_encryption: 'scram-sha-256',
  max_connections: '100',
  shared_buffers: '128MB',
  work_mem: '8MB',
  maintenance_work_mem: '64MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_compression: 'on',
  min_wal_size: '80MB',
  max_wal_size: '512MB',
  checkpoint_timeout: '15min',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  idle_in_transaction_session_timeout: '60s',
  log_checkpoints: 'off',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

/** The major version of the cluster in this data directory, or undefined when there is none yet. */
export function postgresVersion(data: DataDirectory): string | undefined {
  return readIfPresent(join(data.path, 'postgres', 'PG_VERSION'))?.trim()
}

/**
 * Postgres on a unix socket alone. It gets its directories as open descriptors and names them `/proc/self/fd/N`:
 * so it runs under an account of its own below a 0700 home that this account can't enter (it refuses to run as root),
 * needs no capability, and its socket path is short.
 */
export function postgresServer(
  data: DataDirectory,
  programs: { initdb: ServerProgram; postgres: ServerProgram },
): PostgresServer {
  const cluster = join(data.path, 'postgres')
  const socketDirectory = join(data.run, 'postgres')
  const passwordFile = join(data.secrets, 'postgres.password')
  const logFile = join(data.log, 'postgres.log')
  const byDescriptor = programs.postgres.origin === 'native'
  const account = accountFor(cluster, byDescriptor)
  const password = passwordOf(cluster, passwordFile)
  const place = byDescriptor
    ? { cluster: '/proc/self/fd/3', socket: '/proc/self/fd/4' }
    : { cluster: programs.postgres.at(cluster), socket: programs.postgres.at(socketDirectory) }
  const all = { ...settings, unix_socket_directories: place.socket, cluster_name: data.mark }
  const args = ['-D', place.cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const command = programs.postgres.command({ args, mounts: [cluster, socketDirectory], account })
  const host = join(data.sockets, 'postgres')
  return {
    url: `postgresql://${role}:${password}@localhost/${database}?host=${encodeURIComponent(host)}`,
    spec: {
      name: 'postgres',
      ...command,
      directories: byDescriptor ? [cluster, socketDirectory] : [],
      fingerprint: createHash('sha256')
        .update(JSON.stringify([command.command, command.args]))
        .digest('hex'),
      // SIGINT is Postgres' fast shutdown: SIGTERM would wait for every client to leave.
      stopSignal: 'SIGINT',
      stopGraceMs: 30_000,
      // Recovery after a power cut replays the log first.
      readyWithinMs: 120_000,
      prepare: async () => {
        await programs.postgres.prepare('postgres')
        openTo(privateDirectory(socketDirectory), account)
        if (clusterExists(cluster)) clearStaleLock(cluster)
        else
          await createCluster({
            cluster,
            scratch: socketDirectory,
            role,
            password,
            account,
            initdb: programs.initdb,
            logFile,
          })
      },
      probe: () => probe({ path: join(host, '.s.PGSQL.5432') }, startupMessage(), 'R'),
    },
  }
}

/** An existing cluster's owner; for a new one, `postgres` when we are root, else ourselves. */
function accountFor(cluster: string, isNative: boolean): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = statSync(cluster, { throwIfNoEntry: false })
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  if (!isNative) return imageAccount
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'))
  const [, , uid, gid] = line?.split(':') ?? []
  if (!uid || !gid) {
    throw new Error(
      'Postgres refuses to run as root, and this machine has no account named postgres to run it as. ' +
        'Create one with `adduser --system --group postgres`, or run svc as an ordinary user, or set DATABASE_URL.',
    )
  }
  return { uid: Number(uid), gid: Number(gid) }
}

function passwordOf(cluster: string, file: string): string {
  if (clusterExists(cluster) && !existsSync(file)) {
    throw new Error(`${file} is missing, and the database in ${cluster} can't be opened without it. Put it back.`)
  }
  return ensureSecretFile(file)
}

/**
 * After a reboot the pid in postmaster.pid may belong to anybody, and after a kill to a zombie that nobody reaps: each
 * time Postgres would refuse to start. The file also tells a new server about memory that backends of an old one still
 * use, so it is removed only when that process is no Postgres. For a zombie our own pid takes its place: Postgres
 * passes over its parent's, and goes on to look at that memory.
 */
function clearStaleLock(cluster: string): void {
  const file = join(cluster, 'postmaster.pid')
  const [pid, ...rest] = readIfPresent(file)?.split('\n') ?? []
  if (!pid) return
  const name = readIfPresent(`/proc/${pid}/comm`)?.trim()
  if (name === undefined) return
  if (name !== 'postgres') removeIfPresent(file)
  else if (!identify(Number(pid))) writeFileSync(file, [process.pid, ...rest].join('\n'))
}

/** Protocol 3.0's first message. A server that accepts connections asks for a password (`R`); one that starts, errs. */
function startupMessage(): Buffer {
  const body = Buffer.from(`user\0${role}\0database\0${database}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(3 << 16, 4)
  return Buffer.concat([head, body])
}
