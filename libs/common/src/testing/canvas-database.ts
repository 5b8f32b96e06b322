import { pino } from 'pino'
import { type Context, systemContext } from '../kernel/context.js'
import { Database } from '../kernel/database/database.js'
import { EventLog, type LoggedEvent } from '../kernel/database/events.js'
import { Lease } from '../kernel/database/lease.js'
import { Outbox } from '../kernel/database/outbox.js'
import type { Tx } from '../kernel/database/tx.js'
import { Writer } from '../kernel/database/writer.js'
import { newId } from '../kernel/ids.js'
import { type TestDatabase, testDatabase } from './database.js'

export const silent = pino({ level: 'silent' })

export const ownerContext = (more: Partial<Context> = {}): Context => ({
  ...systemContext('test'),
  actor: { kind: 'owner', principal: 'owner', tokenId: 'tok_1', scopes: ['*'] },
  ...more,
})

/** A canvas with its writer, on a database of its own, under a lease, with the rights of lifecycle. */
export interface Canvas {
  readonly store: TestDatabase
  readonly database: Database
  readonly writer: Writer
  readonly events: EventLog
  readonly outbox: Outbox
  /** What the live tail was given, in order. */
  readonly published: LoggedEvent[]
  /** Connections under the next epoch, as a second lifecycle would hold them. */
  takeOver(): Promise<Database>
  close(): Promise<void>
}

export const takeLease = async (store: TestDatabase, holder: string): Promise<number> => {
  const url = store.urlFor('lifecycle')
  const lease = new Lease({ url, holder, log: silent, onLost: () => undefined, ttl: 60_000, renewEvery: 60_000 })
  const epoch = await lease.acquire(AbortSignal.timeout(10_000))
  if (epoch === undefined) throw new Error(`${holder} was not given the lease`)
  await lease.forget()
  return epoch
}

export const openLeased = async (store: TestDatabase, holder = 'lifecycle'): Promise<Database> => {
  const database = new Database({
    url: store.urlFor('lifecycle'),
    application: 'test',
    log: silent,
    leased: true,
    max: 24,
  })
  await database.carryEpoch(await takeLease(store, holder))
  return database
}

export const openCanvas = async (): Promise<Canvas> => {
  const store = await testDatabase()
  const opened = [await openLeased(store)]
  const database = opened[0] as Database
  const [events, outbox] = [new EventLog(), new Outbox('canvas')]
  const published: LoggedEvent[] = []
  const publish = (batch: readonly LoggedEvent[]): void => void published.push(...batch)
  const writer = new Writer({ database, schema: 'canvas', log: silent, events, outbox, publish })
  return {
    store,
    database,
    writer,
    events,
    outbox,
    published,
    takeOver: async () => {
      const next = await openLeased(store)
      opened.push(next)
      return next
    },
    close: async () => {
      await Promise.all(opened.map((each) => each.close()))
      await store.drop()
    },
  }
}

/** Inserts a node, a root unless a parent is given, without its event; answers its id. */
export const insertNode = (tx: Tx, parent?: { id: string; root: string }): string => {
  const id = newId('node')
  const now = new Date(0)
  tx.send(
    `INSERT INTO canvas.nodes (id, name, kind, mode, lifecycle, status, parent_id, root_id, depth, engine, cwd, model,
       scopes, scopes_explicit, principal, generation, created_at, updated_at)
     VALUES ($1, 'n', 'general', 'base', 'resident', 'active', $2, $3, $4, 'exec', '/tmp', '{}', '{}', false, 'owner', 1, $5, $5)`,
    [id, parent?.id ?? null, parent?.root ?? id, parent ? 1 : 0, now],
  )
  return id
}

export const createNode = (canvas: Canvas, parent?: { id: string; root: string }): Promise<string> =>
  canvas.writer.transact(ownerContext(), async ({ tx }) => insertNode(tx, parent))
