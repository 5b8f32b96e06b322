import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Canvas,
  createNode,
  insertNode,
  openCanvas,
  ownerContext,
  takeLease,
} from '#common/testing/canvas-database.js'
import { waitFor } from '#common/testing/wait-for.js'

describe('the fence around the canvas', () => {
  let canvas: Canvas
  beforeAll(async () => {
    canvas = await openCanvas()
  })
  afterAll(() => canvas.close())

  const tables = async (): Promise<string[]> => {
    const rows = await canvas.store.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'canvas'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1`,
    )
    return rows.map((row) => row.name)
  }
  const writes = (table: string): string[] => [
    `DELETE FROM canvas.${table} WHERE false`,
    `INSERT INTO canvas.${table} OVERRIDING SYSTEM VALUE SELECT * FROM canvas.${table} WHERE false`,
    `TRUNCATE canvas.${table} CASCADE`,
  ]

  it('refuses every kind of write to every table of the canvas without an epoch', async () => {
    const names = await tables()
    expect(names.length).toBeGreaterThanOrEqual(15)
    for (const sql of names.flatMap(writes)) {
      await expect(canvas.store.query(sql)).rejects.toMatchObject({ code: 'SV001' })
    }
  })

  it('lets the holder of the present epoch write every table but the leases', async () => {
    for (const name of (await tables()).filter((each) => each !== 'leases')) {
      await canvas.database.query(`DELETE FROM canvas.${name} WHERE false`)
    }
    await expect(canvas.database.query('DELETE FROM canvas.leases')).rejects.toMatchObject({ code: 'not_leader' })
  })

  it('refuses a writer of an older epoch with not_leader, its open transaction included', async () => {
    const node = await createNode(canvas)
    const newer = await canvas.takeOver()
    for (const name of (await tables()).filter((each) => each !== 'leases')) {
      await expect(canvas.database.query(`DELETE FROM canvas.${name} WHERE false`)).rejects.toMatchObject({
        code: 'not_leader',
      })
    }
    await expect(createNode(canvas)).rejects.toMatchObject({ code: 'not_leader' })
    expect(await newer.query('SELECT id FROM canvas.nodes')).toEqual([{ id: node }])
  })
})

describe('a holder that stands still inside a transaction', () => {
  it('holds a take-over up for 2 s at most, and loses what it had not committed', async () => {
    const canvas = await openCanvas()
    try {
      const stuck = await canvas.database.connect()
      await stuck.query('BEGIN')
      await stuck.query('DELETE FROM canvas.inbox WHERE false')
      const before = performance.now()
      await takeLease(canvas.store, 'lifecycle')
      // Less than the 10 s after which the taker gives up; 2 s and a pause where the machine is idle.
      expect(performance.now() - before).toBeLessThan(8000)
      await expect(stuck.query('COMMIT')).rejects.toThrow()
      stuck.release(true)
    } finally {
      await canvas.close()
    }
  })

  it('is waited for by a take-over while it still works, so that nothing is committed under the old epoch after it', async () => {
    const canvas = await openCanvas()
    try {
      const waits = async (): Promise<boolean> => {
        const found = await canvas.store.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'svc lease'
             AND wait_event_type = 'Lock'`,
        )
        return found.length === 1
      }
      let seenByNewer: Promise<unknown> = Promise.resolve()
      const node = await canvas.writer.transact(ownerContext(), async ({ tx }) => {
        // A machine that stalls must not make it a holder that stands still.
        await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0')
        await tx.count('DELETE FROM canvas.inbox WHERE false')
        seenByNewer = takeLease(canvas.store, 'lifecycle').then(() => canvas.store.query('SELECT id FROM canvas.nodes'))
        await waitFor(waits, { what: 'the take-over to wait' })
        return insertNode(tx)
      })
      expect(await seenByNewer).toEqual([{ id: node }])
    } finally {
      await canvas.close()
    }
  })
})
