import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Canvas,
  createNode,
  insertNode,
  openCanvas,
  ownerContext,
  silent,
} from '#common/testing/canvas-database.js'
import { systemClock } from '../clock.js'
import { SvcError } from '../errors.js'
import { compareAndSet, lockRows, setLocked } from './rows.js'
import type { Tx } from './tx.js'
import { Writer } from './writer.js'

let canvas: Canvas
beforeAll(async () => {
  canvas = await openCanvas()
})
afterAll(() => canvas.close())

const nameOf = async (id: string): Promise<string | undefined> =>
  (await canvas.database.query<{ name: string }>('SELECT name FROM canvas.nodes WHERE id = $1', [id]))[0]?.name

/** What a busy machine delays is not a transaction that was given up: of contention only deadlocks are left. */
const patient = async (tx: Tx): Promise<void> => {
  await tx.query('SET LOCAL lock_timeout = 0')
  await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0')
}

describe('transact', () => {
  it('commits record, event and message together, then publishes, then runs the effects', async () => {
    const order: string[] = []
    const id = await canvas.writer.transact(ownerContext(), async ({ tx }) => {
      const node = insertNode(tx)
      tx.emit({ nodeId: node, type: 'node.created', data: { a: 1 } })
      tx.deliver({ key: `t:${node}`, target: 'models', type: 't', payload: { node } })
      tx.afterCommit(() => void order.push(`effect after ${canvas.published.length} published`))
      return node
    })
    expect(canvas.published).toMatchObject([{ subject: id, seq: 1, tree_seq: 1, type: 'node.created', data: { a: 1 } }])
    expect(order).toEqual(['effect after 1 published'])
    expect(await canvas.store.query('SELECT key, payload FROM canvas.outbox')).toEqual([
      { key: `t:${id}`, payload: { node: id } },
    ])
  })

  it('undoes all of it when the work throws, and runs no effect', async () => {
    const ran: string[] = []
    const ids: string[] = []
    const failing = canvas.writer.transact(ownerContext(), async ({ tx }) => {
      ids.push(insertNode(tx))
      tx.emit({ nodeId: ids[0] as string, type: 'node.created', data: {} })
      tx.afterCommit(() => void ran.push('effect'))
      throw new SvcError('quota_exceeded')
    })
    await expect(failing).rejects.toMatchObject({ code: 'quota_exceeded' })
    expect(await nameOf(ids[0] as string)).toBeUndefined()
    expect(ran).toEqual([])
  })

  it('throws the error of a statement that nobody waited for, and commits nothing', async () => {
    const ids: string[] = []
    const failing = canvas.writer.transact(ownerContext(), async ({ tx }) => {
      ids.push(insertNode(tx))
      tx.send('INSERT INTO canvas.inbox (source, source_event) VALUES (NULL, $1)', ['x'])
    })
    await expect(failing).rejects.toMatchObject({ code: '23502' })
    expect(await nameOf(ids[0] as string)).toBeUndefined()
  })

  it('joins the transaction that the context carries already', async () => {
    const failing = canvas.writer.transact(ownerContext(), async (outer) => {
      const node = await canvas.writer.transact(outer, async ({ tx }) => insertNode(tx))
      expect(await outer.tx.query('SELECT 1 FROM canvas.nodes WHERE id = $1', [node])).toHaveLength(1)
      throw new SvcError('internal', node)
    })
    const { message } = await failing.catch((error: SvcError) => error)
    expect(await nameOf(message)).toBeUndefined()
  })

  // What came after the ROLLBACK was once committed by itself.
  it('lets nothing through that a part of the work still sends when another has failed', async () => {
    const id = await createNode(canvas)
    const late: Promise<unknown>[] = []
    const failing = canvas.writer.transact(ownerContext(), async ({ tx }) => {
      const goesOn = async (): Promise<void> => {
        for (;;) await tx.count(`UPDATE canvas.nodes SET name = 'late' WHERE id = $1`, [id])
      }
      late.push(goesOn().catch((error: unknown) => error))
      await tx.query('SELECT 1')
      throw new SvcError('quota_exceeded')
    })
    await expect(failing).rejects.toMatchObject({ code: 'quota_exceeded' })
    expect(await late[0]).toMatchObject({ message: 'the transaction has ended already' })
    expect(await nameOf(id)).toBe('n')
  })

  it('gives Prisma the same transaction', async () => {
    const id = await createNode(canvas)
    await canvas.writer.transact(ownerContext(), async ({ tx }) => {
      tx.send(`UPDATE canvas.nodes SET name = 'raw' WHERE id = $1`, [id])
      const prisma = await tx.prisma()
      expect(await prisma.node.findUniqueOrThrow({ where: { id } })).toMatchObject({ name: 'raw' })
      await prisma.node.update({ where: { id }, data: { name: 'by prisma' } })
    })
    expect(await nameOf(id)).toBe('by prisma')
    const undone = canvas.writer.transact(ownerContext(), async ({ tx }) => {
      await (await tx.prisma()).node.update({ where: { id }, data: { name: 'undone' } })
      throw new SvcError('internal')
    })
    await expect(undone).rejects.toMatchObject({ code: 'internal' })
    expect(await nameOf(id)).toBe('by prisma')
  })

  it('runs the loser of a deadlock again, so that both take effect', async () => {
    const [a, b] = [await createNode(canvas), await createNode(canvas)]
    let attempts = 0
    const meet = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const crosswise = (first: string, second: string, at: 0 | 1) =>
      canvas.writer.transact(ownerContext(), async ({ tx }) => {
        attempts += 1
        await lockRows(tx, 'canvas.nodes', [first])
        meet[at].resolve()
        await meet[at === 0 ? 1 : 0].promise
        await tx.count(`UPDATE canvas.nodes SET name = name || $2 WHERE id = $1`, [second, `${at}`])
      })
    await Promise.all([crosswise(a, b, 0), crosswise(b, a, 1)])
    expect(attempts).toBeGreaterThan(2)
    expect([await nameOf(a), await nameOf(b)]).toEqual(['n1', 'n0'])
  })

  it('locks rows in the order of their ids, whichever order they are asked for in', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => createNode(canvas)))
    let attempts = 0
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        canvas.writer.transact(ownerContext(), async ({ tx }) => {
          attempts += 1
          await patient(tx)
          const rows = await lockRows<{ id: string; version: number }>(
            tx,
            'canvas.nodes',
            at % 2 ? ids : [...ids].reverse(),
          )
          for (const row of rows) setLocked(tx, 'canvas.nodes', row, { name: `n${at}` })
        }),
      ),
    )
    expect(attempts).toBe(20)
  })

  it('refuses a change of a row that is no longer at the version it was read at', async () => {
    const id = await createNode(canvas)
    const change = (name: string) =>
      canvas.writer.transact(ownerContext(), ({ tx }) =>
        compareAndSet(tx, 'canvas.nodes', { id, version: 1 }, { name }),
      )
    await change('first')
    await expect(change('second')).rejects.toMatchObject({ code: 'version_conflict' })
    expect(await nameOf(id)).toBe('first')
  })

  it('begins nothing for a caller that is gone or whose deadline has passed', async () => {
    const gone = ownerContext({ signal: AbortSignal.abort() })
    await expect(canvas.writer.transact(gone, async () => 1)).rejects.toMatchObject({ code: 'client_closed' })
    const late = ownerContext({ deadline: 1 })
    await expect(canvas.writer.transact(late, async () => 1)).rejects.toMatchObject({ code: 'deadline_exceeded' })
    const lateAndGone = ownerContext({ deadline: 1, signal: AbortSignal.abort() })
    const overrun = ownerContext({ signal: AbortSignal.abort(new SvcError('deadline_exceeded')) })
    await expect(canvas.writer.transact(overrun, async () => 1)).rejects.toMatchObject({ code: 'deadline_exceeded' })
    await expect(canvas.writer.transact(lateAndGone, async () => 1)).rejects.toMatchObject({
      code: 'deadline_exceeded',
    })
  })

  it('runs again after its connection is lost before COMMIT', async () => {
    let attempts = 0
    const id = await canvas.writer.transact(ownerContext(), async ({ tx }) => {
      attempts += 1
      const [row] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      if (attempts === 1) await canvas.store.query('SELECT pg_terminate_backend($1)', [row?.pid])
      return insertNode(tx)
    })
    expect(attempts).toBe(2)
    expect(await nameOf(id)).toBe('n')
  })
})

describe('once', () => {
  const request = { operation: 'nodes.create', input: { prompt: 'x', nested: { a: 1, b: 2 } } }
  const create = (key: string, input: unknown = request.input) =>
    canvas.writer.once(ownerContext({ idempotencyKey: key }), { ...request, input }, async ({ tx }) => ({
      id: insertNode(tx),
    }))

  it('answers a repetition as it answered the first, and says so', async () => {
    const first = await create('k1')
    const again = await create('k1', { nested: { b: 2, a: 1 }, prompt: 'x' })
    expect(first.replayed).toBe(false)
    expect(again).toEqual({ value: first.value, replayed: true })
  })

  it('does the work once for twenty requests at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create('k2')))
    expect(new Set(answers.map((answer) => answer.value.id)).size).toBe(1)
    expect(answers.filter((answer) => !answer.replayed)).toHaveLength(1)
    expect(await nameOf(answers[0]?.value.id as string)).toBe('n')
  })

  it('refuses the key for another body or another operation', async () => {
    await create('k3')
    await expect(create('k3', { prompt: 'y' })).rejects.toMatchObject({ code: 'idempotency_key_reused' })
    const other = canvas.writer.once(
      ownerContext({ idempotencyKey: 'k3' }),
      { ...request, operation: 'nodes.cancel' },
      async () => 1,
    )
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused' })
  })

  it('keeps the keys of two principals apart', async () => {
    const first = await create('k4')
    const actor = { kind: 'app', principal: 'app:1', tokenId: 'tok_2', scopes: [] } as const
    const other = await canvas.writer.once(ownerContext({ actor, idempotencyKey: 'k4' }), request, async ({ tx }) => ({
      id: insertNode(tx),
    }))
    expect(other.value.id).not.toBe(first.value.id)
  })

  it('says that the first is still running when it takes longer than 2 s', async () => {
    const [begun, refused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = canvas.writer.once(ownerContext({ idempotencyKey: 'k5' }), request, async ({ tx }) => {
      await patient(tx)
      begun.resolve()
      await refused.promise
      return { id: 'first' }
    })
    await begun.promise
    await expect(create('k5')).rejects.toMatchObject({ code: 'idempotency_in_progress' })
    refused.resolve()
    await first
    expect(await create('k5')).toEqual({ value: { id: 'first' }, replayed: true })
  })

  it('keeps an answer for 24 h and then takes the key afresh', async () => {
    const { database } = canvas
    const first = await create('k7')
    const clock = { ...systemClock, now: () => systemClock.now() + 24 * 3600_000 + 1 }
    const tomorrow = new Writer({ database, schema: 'canvas', log: silent, clock })
    const again = await tomorrow.once(ownerContext({ idempotencyKey: 'k7' }), request, async ({ tx }) => ({
      id: insertNode(tx),
    }))
    expect([again.replayed, again.value.id === first.value.id]).toEqual([false, false])
    expect(await tomorrow.forgetExpiredKeys(ownerContext())).toBeGreaterThan(0)
    expect(await database.query('SELECT key FROM canvas.idempotency')).toEqual([{ key: 'k7' }])
  })

  it('leaves the key free after work that failed', async () => {
    const failing = canvas.writer.once(ownerContext({ idempotencyKey: 'k6' }), request, async () => {
      throw new SvcError('quota_exceeded')
    })
    await expect(failing).rejects.toMatchObject({ code: 'quota_exceeded' })
    expect((await create('k6')).replayed).toBe(false)
  })
})
