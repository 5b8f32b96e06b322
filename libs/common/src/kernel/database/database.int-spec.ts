import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Canvas, createNode, openCanvas, ownerContext, silent } from '#common/testing/canvas-database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { Database } from './database.js'
import { violatedKey } from './sql-errors.js'

/** A line to the database; `cut` leaves what is connected open and silent. */
const openLine = async (url: string) => {
  const address = new URL(url)
  const directory = address.searchParams.get('host')
  const there = directory
    ? { path: join(directory, '.s.PGSQL.5432') }
    : { host: address.hostname, port: Number(address.port || 5432) }
  const ends: Socket[] = []
  const server = createServer((near) => {
    const far = connect(there)
    for (const end of [near, far]) ends.push(end.on('error', () => undefined))
    near.pipe(far).pipe(near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  address.searchParams.delete('host')
  address.hostname = '127.0.0.1'
  address.port = String((server.address() as AddressInfo).port)
  return {
    url: address.href,
    cut: () => {
      for (const end of ends) end.unpipe()
    },
    close: () => {
      server.close()
      for (const end of ends) end.destroy()
    },
  }
}

let canvas: Canvas
beforeAll(async () => {
  canvas = await openCanvas()
})
afterAll(() => canvas.close())

describe('a database', () => {
  it('works again by itself after every one of its connections was cut', async () => {
    await Promise.all(Array.from({ length: 8 }, () => canvas.database.query('SELECT pg_sleep(0.02)')))
    await canvas.store.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test'`)
    await waitFor(() => canvas.database.query('SELECT 1'))
    await createNode(canvas)
  })

  // A database behind a broken line answers nothing and closes nothing: every connection of the pool waited for as long as
  // the system takes to call that a loss, a quarter of an hour.
  it('that was cut off without a word is service_unavailable in seconds, and works again over a new connection', async () => {
    const line = await openLine(canvas.store.urlFor('lifecycle'))
    const database = new Database({ url: line.url, application: 'test', log: silent, statementTimeout: 100, max: 1 })
    try {
      await database.query('SELECT 1')
      line.cut()
      await expect(database.query('SELECT 1')).rejects.toMatchObject({ code: 'service_unavailable' })
      await waitFor(() => database.query('SELECT 1'))
    } finally {
      await database.close()
      line.close()
    }
  })

  it('that is not there is service_unavailable, for statements and transactions', async () => {
    const away = new Database({ url: 'postgresql:///x?host=/nonexistent', application: 'test', log: silent })
    await expect(away.query('SELECT 1')).rejects.toMatchObject({ code: 'service_unavailable' })
    await away.close()
  })

  it('that waits for a lease is not_leader until it carries an epoch, and again once closed', async () => {
    const leased = new Database({
      url: canvas.store.urlFor('lifecycle'),
      application: 'test',
      log: silent,
      leased: true,
    })
    await expect(leased.query('SELECT 1')).rejects.toMatchObject({ code: 'not_leader' })
    await leased.carryEpoch(1)
    expect(await leased.query(`SELECT current_setting('svc.epoch') AS epoch`)).toEqual([{ epoch: '1' }])
    await leased.close()
    await expect(leased.query('SELECT 1')).rejects.toMatchObject({ code: 'not_leader' })
  })

  it('names the key that refused a row, for raw statements and for Prisma', async () => {
    const id = await createNode(canvas)
    const add = () => canvas.database.query('INSERT INTO canvas.trees (root_id) VALUES ($1)', [id])
    expect(violatedKey(await add().catch((error: unknown) => error))).toBe('trees_pkey')
    const byPrisma = canvas.writer.transact(ownerContext(), async ({ tx }) => {
      await (await tx.prisma()).tree.create({ data: { rootId: id } })
    })
    expect(violatedKey(await byPrisma.catch((error: unknown) => error))).toBe('trees_pkey')
  })

  it('reads through Prisma outside a transaction too', async () => {
    const id = await createNode(canvas)
    const prisma = await canvas.database.prisma()
    expect(await prisma.node.findUnique({ where: { id } })).toMatchObject({ id, status: 'active' })
  })
})
