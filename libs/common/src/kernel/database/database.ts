import pg from 'pg'
import { SvcError } from '../errors.js'
import type { Logger } from '../log.js'
import type { PrismaClient } from './generated/client.js'
import { type BoundPrisma, openPrisma } from './prisma-view.js'
import { toSvcError } from './sql-errors.js'
import { statement } from './statements.js'
import type { Reader } from './tx.js'

export interface DatabaseOptions {
  /** `postgresql://…`; a unix socket as `?host=/dir`. */
  readonly url: string
  /** Shown in pg_stat_activity. */
  readonly application: string
  readonly log: Logger
  /** Connections at most; 8 unless given. */
  readonly max?: number
  /** The connections must carry the epoch of a lease: nothing works before the first `carryEpoch`. */
  readonly leased?: boolean
  /** Longest time in ms of one statement; 10,000 unless given. */
  readonly statementTimeout?: number
}

/** Longest wait in ms for a row lock, for another holder of an idempotency key, and of an open transaction for its process. */
const LOCK_TIMEOUT = 2000
const IDLE_IN_TRANSACTION = 2000
/** Longest wait in ms for a free or new connection. */
const CONNECT_TIMEOUT = 5000
/** Longest time in ms of one statement, as the server keeps it, unless the options say another. */
const STATEMENT_TIMEOUT = 10_000
/** How much longer (ms) this side waits: a server that was cut off ends no statement, and the system notices after minutes. */
const SILENCE = 3000

const sessionOptions = (options: DatabaseOptions, epoch?: number): string =>
  [
    'timezone=UTC',
    'jit=off',
    // our statements are written for one plan whatever their values; planning some of them takes longer than running them
    'plan_cache_mode=force_generic_plan',
    // that plan is made while tables are empty and kept while they grow: it must find rows by their index, never by a scan
    'enable_seqscan=off',
    'enable_hashjoin=off',
    'enable_mergejoin=off',
    `statement_timeout=${options.statementTimeout ?? STATEMENT_TIMEOUT}`,
    `lock_timeout=${LOCK_TIMEOUT}`,
    `idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION}`,
    ...(epoch === undefined ? [] : [`svc.epoch=${epoch}`]),
  ]
    .map((setting) => `-c ${setting}`)
    .join(' ')

/**
 * One service's connections. Raw statements and Prisma share one pool, whose connections pipeline: statements sent
 * without waiting cost one round trip together.
 *
 * After `close`, or before a lease is held, every use fails with `not_leader`.
 */
export class Database implements Reader {
  readonly #options: DatabaseOptions
  #pool: pg.Pool | undefined
  #prisma: Promise<BoundPrisma> | undefined

  constructor(options: DatabaseOptions) {
    this.#options = options
    if (!options.leased) this.#pool = this.#open()
  }

  #open(epoch?: number): pg.Pool {
    const options = this.#options
    const { log } = options
    const pool = new pg.Pool({
      connectionString: options.url,
      application_name: options.application,
      options: sessionOptions(options, epoch),
      max: options.max ?? 8,
      idleTimeoutMillis: 30_000,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: (options.statementTimeout ?? STATEMENT_TIMEOUT) + SILENCE,
      keepAlive: true,
      pipeline: true,
    } as pg.PoolConfig)
    pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection was lost'))
    // a checked-out connection that breaks while no statement runs would otherwise end the process
    pool.on('connect', (client) =>
      client.on('error', (error) => log.debug({ err: error }, 'a database connection was lost')),
    )
    return pool
  }

  get pool(): pg.Pool {
    if (!this.#pool) throw new SvcError('not_leader')
    return this.#pool
  }

  async query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    try {
      return (await this.pool.query(statement(text, values))).rows as Row[]
    } catch (error) {
      throw toSvcError(error)
    }
  }

  /** A connection for one transaction. @throws SvcError not_leader */
  connect(): Promise<pg.PoolClient> {
    return this.pool.connect()
  }

  /** Prisma's client over the same pool; its code is loaded at the first call. */
  async prisma(): Promise<PrismaClient> {
    return (await this.boundPrisma()).client
  }

  boundPrisma(): Promise<BoundPrisma> {
    this.#prisma ??= openPrisma(this.pool)
    return this.#prisma
  }

  /** Puts connections that carry this epoch in place of those of an older one. */
  async carryEpoch(epoch: number): Promise<void> {
    await this.close()
    this.#pool = this.#open(epoch)
  }

  /** Ends the connections; statements that run are waited for. */
  async close(): Promise<void> {
    const [pool, prisma] = [this.#pool, this.#prisma]
    this.#pool = undefined
    this.#prisma = undefined
    if (prisma) await (await prisma).client.$disconnect()
    await pool?.end()
  }
}
