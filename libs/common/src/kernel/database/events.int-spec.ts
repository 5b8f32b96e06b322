import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Canvas, createNode, openCanvas, ownerContext } from '#common/testing/canvas-database.js'

let canvas: Canvas
beforeAll(async () => {
  canvas = await openCanvas()
})
afterAll(() => canvas.close())

const emit = (id: string, count: number, fail = false) =>
  canvas.writer.transact(ownerContext(), async ({ tx }) => {
    for (let at = 0; at < count; at += 1) tx.emit({ nodeId: id, type: 'turn.started', data: { at } })
    if (fail) throw new Error('undone')
  })
const numbers = (count: number, from = 1): number[] => Array.from({ length: count }, (_, at) => at + from)

describe('events of a node', () => {
  it('are numbered 1, 2, 3 … without a gap by twenty writers at the same time, some of which fail', async () => {
    const id = await createNode(canvas)
    await Promise.allSettled(Array.from({ length: 20 }, (_, at) => emit(id, 1 + (at % 3), at % 5 === 0)))
    const { events, head } = await canvas.events.page(canvas.database, id, 0, 500)
    expect(events.map((event) => event.seq)).toEqual(numbers(head))
    expect(head).toBe([...Array(20).keys()].filter((at) => at % 5 !== 0).reduce((sum, at) => sum + 1 + (at % 3), 0))
  })

  it('count over the whole tree too, without a gap, by writers of several of its nodes', async () => {
    const root = await createNode(canvas)
    const children = await Promise.all([1, 2, 3].map(() => createNode(canvas, { id: root, root })))
    await Promise.all(Array.from({ length: 20 }, (_, at) => emit([root, ...children][at % 4] as string, 2)))
    const { events, head } = await canvas.events.pageTree(canvas.database, root, 0, 500)
    expect(head).toBe(40)
    expect(events.map((event) => event.tree_seq)).toEqual(numbers(40))
    for (const id of [root, ...children]) {
      expect(events.filter((event) => event.subject === id).map((event) => event.seq)).toEqual(numbers(10))
    }
  })

  it('may be of several nodes and trees in one transaction, each numbered by itself in the order given', async () => {
    const [a, b] = [await createNode(canvas), await createNode(canvas)]
    await canvas.writer.transact(ownerContext(), async ({ tx }) => {
      for (const nodeId of [a, b, a]) tx.emit({ nodeId, type: 'message.accepted', data: { nodeId } })
    })
    const of = async (id: string) =>
      (await canvas.events.page(canvas.database, id, 0, 10)).events.map((event) => event.seq)
    expect([await of(a), await of(b)]).toEqual([[1, 2], [1]])
    expect(canvas.published.slice(-3).map((event) => [event.subject, event.seq])).toEqual([
      [a, 1],
      [b, 1],
      [a, 2],
    ])
  })

  it('are written under the counters of several trees without a deadlock, by writers that share no node', async () => {
    const roots = await Promise.all(Array.from({ length: 6 }, () => createNode(canvas)))
    const writers = await Promise.all(
      Array.from({ length: 12 }, () => Promise.all(roots.map((root) => createNode(canvas, { id: root, root })))),
    )
    let attempts = 0
    await Promise.all(
      writers.map((children, at) =>
        canvas.writer.transact(ownerContext(), async ({ tx }) => {
          attempts += 1
          for (const nodeId of at % 2 ? children : children.reverse())
            tx.emit({ nodeId, type: 'turn.started', data: {} })
        }),
      ),
    )
    expect(attempts).toBe(12)
  })

  it('keep what was sent, character for character', async () => {
    const id = await createNode(canvas)
    const text = 'nul \u0000, lone \ud800, "quotes", {braces}, back\\slash, \u2028'
    await canvas.writer.transact(ownerContext(), async ({ tx }) => {
      tx.emit({ nodeId: id, type: 'message.completed', data: { text }, causationId: 'evt_x' })
    })
    const { events } = await canvas.events.page(canvas.database, id, 0, 10)
    expect(events[0]).toMatchObject({ data: { text }, causation_id: 'evt_x', actor: { kind: 'owner', id: null } })
    expect(events[0]).toEqual(canvas.published.at(-1))
  })

  it('are read after a cursor, with the head as it stood', async () => {
    const id = await createNode(canvas)
    await emit(id, 5)
    const { events, head } = await canvas.events.page(canvas.database, id, 2, 2)
    expect([events.map((event) => event.seq), head]).toEqual([[3, 4], 5])
    expect(await canvas.events.page(canvas.database, id, 5, 2)).toEqual({ events: [], head: 5 })
  })

  it('that are no longer kept answer cursor_expired with the oldest one', async () => {
    const id = await createNode(canvas)
    await emit(id, 5)
    await canvas.database.query('DELETE FROM canvas.events WHERE node_id = $1 AND seq < 4', [id])
    const page = (after: number) => canvas.events.page(canvas.database, id, after, 10)
    await expect(page(1)).rejects.toMatchObject({ code: 'cursor_expired', fields: { oldest: 4 } })
    expect((await page(3)).events.map((event) => event.seq)).toEqual([4, 5])
  })

  // A client that named a number of its own, or one from before a backup was restored, was answered "nothing yet": the
  // gateway then took its number for the position of everybody who watched the node.
  it('after a number that was never given out answer cursor_expired, and where to go on', async () => {
    const id = await createNode(canvas)
    await emit(id, 2)
    const beyond = canvas.events.page(canvas.database, id, 3, 10)
    await expect(beyond).rejects.toMatchObject({ code: 'cursor_expired', fields: { oldest: 3 } })
  })

  it('of a node that is not there are refused, and read as not_found', async () => {
    await expect(canvas.events.page(canvas.database, 'node_none', 0, 1)).rejects.toMatchObject({ code: 'not_found' })
    const stray = canvas.writer.transact(ownerContext(), async ({ tx }) => {
      tx.emit({ nodeId: 'node_none', type: 'node.created', data: {} })
    })
    await expect(stray).rejects.toMatchObject({ code: '23502' })
  })
})
