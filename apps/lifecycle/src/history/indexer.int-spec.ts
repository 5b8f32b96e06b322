import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from '#common/kernel/database/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, said, started } from '../../../../test/support/lifecycle-service.js'
import { HistoryIndexer } from './history.indexer.js'
import { HistoryQueue } from './history.queue.js'
import { IndexRepository } from './index.repository.js'

let lifecycle: LifecycleUnderTest
beforeEach(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterEach(() => lifecycle.stop())

const indexer = () => lifecycle.service.app.get(HistoryIndexer)
const rows = <T>(sql: string, values: unknown[] = []) => lifecycle.service.app.get(Database).query<T>(sql, values)
const bodies = async (id: string) =>
  (await rows<{ body: string }>('SELECT body FROM canvas.passages WHERE node_id = $1 ORDER BY id', [id])).map(
    ({ body }) => body,
  )
const turns = async (id: string) =>
  (await rows<{ turns: number }>('SELECT sum(turns) AS turns FROM canvas.activity WHERE node_id = $1', [id]))[0]?.turns
const holds = (id: string, count: number) => waitFor(async () => (await bodies(id)).length === count)

/** A node that said two things, both in the index. */
const spoken = async () => {
  const running = await lifecycle.running({ prompt: 'asked' })
  await running.broker.append(started(1), said(1, 1, 'said'), { type: 'turn_ended', turn: 1, status: 'completed' })
  await holds(running.node.id, 3)
  return running
}

describe('the index of history', () => {
  it('is written once, whoever tells of it and however often', async () => {
    const { node } = await spoken()
    expect(await indexer().index([node.id, node.id])).toEqual([])
    await indexer().index([node.id])
    expect((await bodies(node.id)).sort()).toEqual(['asked', 'go', 'said'])
    expect(await turns(node.id)).toBe(1)
  })

  it('of a round that dies before its commit holds nothing, and the next one writes all', async () => {
    const { node, broker } = await spoken()
    const repository = lifecycle.service.app.get(IndexRepository)
    const save = repository.save.bind(repository)
    let deaths = 0
    repository.save = () => {
      deaths += 1
      throw new Error('died before the commit')
    }
    await broker.append(started(2), said(2, 1, 'lost?'))
    await waitFor(() => deaths > 0)
    expect(await bodies(node.id)).toHaveLength(3)
    repository.save = save
    await holds(node.id, 5)
    expect(await turns(node.id)).toBe(1)
  })

  it('is taken up by the next process where the last one was', async () => {
    const { node, broker } = await spoken()
    await indexer().stop()
    await broker.append(started(2), said(2, 1, 'unseen'), { type: 'turn_ended', turn: 2, status: 'completed' })
    await broker.push('update', 'reported')
    expect(await bodies(node.id)).toHaveLength(3)
    await lifecycle.stopService()
    await lifecycle.another()
    await holds(node.id, 6)
    expect(await turns(node.id)).toBe(2)
    expect((await bodies(node.id)).sort()).toEqual(['asked', 'go', 'go', 'reported', 'said', 'unseen'])
  })

  it('takes more than one round for much, and leaves nothing out', async () => {
    const { node, broker } = await lifecycle.running({ prompt: 'much' })
    await broker.append(started(1))
    for (let batch = 0; batch < 4; batch += 1) {
      await broker.append(
        ...Array.from({ length: 50 }, (_, at) => said(1, batch * 50 + at + 1, `text ${batch * 50 + at}`)),
      )
    }
    await holds(node.id, 2 + 200)
    expect(new Set(await bodies(node.id)).size).toBe(2 + 200)
  })

  it('takes more reports than one round holds, also when it dies between the rounds', async () => {
    const { node, broker } = await spoken()
    await indexer().stop()
    for (let at = 0; at < 70; at += 1) await broker.push('update', `report ${at}`)
    expect(await indexer().index([node.id])).toEqual([node.id])
    expect(await bodies(node.id)).toHaveLength(3 + 60)
    await lifecycle.stopService()
    await lifecycle.another()
    await holds(node.id, 3 + 70)
  })

  it('is written anew when it is of an older form; what was counted is not counted again', async () => {
    const { node } = await spoken()
    await indexer().stop()
    await rows('UPDATE canvas.history_heads SET version = 999 WHERE node_id = $1', [node.id])
    await rows("UPDATE canvas.passages SET body = 'of an older form' WHERE node_id = $1", [node.id])
    indexer().start()
    await waitFor(async () => !(await bodies(node.id)).includes('of an older form'))
    expect((await bodies(node.id)).sort()).toEqual(['asked', 'go', 'said'])
    expect(await turns(node.id)).toBe(1)
  })

  it('finds nodes that nobody told of when it looks at all of them', async () => {
    const { node } = await spoken()
    await indexer().stop()
    await rows('DELETE FROM canvas.history_heads WHERE node_id = $1', [node.id])
    await rows('DELETE FROM canvas.passages WHERE node_id = $1', [node.id])
    expect(lifecycle.service.app.get(HistoryQueue).size).toBe(0)
    indexer().start()
    await holds(node.id, 3)
  })

  it('lets a node be deleted at the same time', async () => {
    const { node } = await spoken()
    await Promise.all([
      indexer().index([node.id]),
      rows('DELETE FROM canvas.nodes WHERE id = $1', [node.id]),
      indexer().index([node.id]),
    ])
    expect(await indexer().index([node.id])).toEqual([])
    expect(await bodies(node.id)).toEqual([])
  })

  it('serves grep also where the database has no index of parts of words', async () => {
    await lifecycle.database.query('DROP INDEX canvas.passages_trigrams_idx')
    const { node } = await spoken()
    const { matches } = await lifecycle.call('canvas.history.grep', { pattern: 'ask.d|said', limit: 10, context: 0 })
    expect(matches.map(({ node_id, text }) => [node_id, text])).toEqual([
      [node.id, 'said'],
      [node.id, 'asked'],
    ])
  })
})
