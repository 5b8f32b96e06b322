import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import type { PrismaClient } from './generated/client.js'
import { statementName } from './statements.js'
import type { PrismaTx } from './tx.js'

/** Prisma's own limit in ms of an interactive transaction; ours end long before by their timeouts. */
const TRANSACTION_TIMEOUT = 60_000

export interface BoundPrisma {
  readonly client: PrismaClient
  /** Prisma's client on a connection whose transaction somebody else begins and ends. */
  borrow(connection: pg.PoolClient): Promise<BorrowedPrisma>
}

export interface BorrowedPrisma {
  readonly tx: PrismaTx
  /** To be called before the transaction ends; leaves the connection as it is. */
  giveBack(): Promise<void>
}

type Adapter = Awaited<ReturnType<PrismaPg['connect']>>
type AdapterTransaction = Awaited<ReturnType<Adapter['startTransaction']>>

const lend = (adapter: Adapter, connection: pg.PoolClient): AdapterTransaction =>
  Object.assign(Object.create(adapter) as AdapterTransaction, {
    client: connection,
    options: { usePhantomQuery: true },
    commit: async () => undefined,
    rollback: async () => undefined,
    createSavepoint: (name: string) => connection.query(`SAVEPOINT ${name}`),
    rollbackToSavepoint: (name: string) => connection.query(`ROLLBACK TO SAVEPOINT ${name}`),
    releaseSavepoint: (name: string) => connection.query(`RELEASE SAVEPOINT ${name}`),
  })

/** Loads Prisma's client (about 30 MB and 120 ms, hence not before somebody asks) over a pool that is not its own. */
export const openPrisma = async (pool: pg.Pool): Promise<BoundPrisma> => {
  const { PrismaClient } = await import('./generated/client.js')
  const lent = new AsyncLocalStorage<pg.PoolClient>()
  const factory = new PrismaPg(pool, { statementNameGenerator: (query) => statementName(query.sql) as string })
  const connect = factory.connect.bind(factory)
  factory.connect = async () => {
    const adapter = await connect()
    const start = adapter.startTransaction.bind(adapter)
    adapter.startTransaction = async (isolation) => {
      const connection = lent.getStore()
      return connection ? lend(adapter, connection) : start(isolation)
    }
    return adapter
  }
  const client = new PrismaClient({ adapter: factory, transactionOptions: { timeout: TRANSACTION_TIMEOUT } })
  return { client, borrow: (connection) => lent.run(connection, () => borrow(client)) }
}

/** Prisma's transaction lasts as long as its callback, which therefore waits until the loan is given back. */
const borrow = (client: PrismaClient): Promise<BorrowedPrisma> =>
  new Promise((resolve, reject) => {
    const whole = client.$transaction(
      (tx) =>
        new Promise<void>((end) => {
          const giveBack = async (): Promise<void> => {
            end()
            await whole
          }
          resolve({ tx, giveBack })
        }),
    )
    whole.catch(reject)
  })
