import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { JournalEntry } from '#common/contract/index.js'
import { LifecycleUnderTest, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const compacted = (summary: string | null, more = {}): JournalEntry => ({
  type: 'compacted',
  turn: 1,
  step: 3,
  kept: 1,
  summary,
  ...more,
})

describe('an entry that makes a conversation smaller', () => {
  it('is recorded, told to watchers, and read by the process that comes after', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    const answer = { ...said(1, 2), context: { tokens: 9100, window: 10_000 } } as JournalEntry
    await broker.append(started(1, assignment.mail), said(1, 1), answer, compacted('In short.', { model: 'mock/m' }))
    await broker.append(compacted(null, { step: 4 }))
    await lifecycle.host.lose(node.id, 1)
    const { assignment: next } = await lifecycle.bound(node.id, 2)
    expect(next.journal.map(({ entry }) => entry).slice(2)).toEqual([
      answer,
      compacted('In short.', { model: 'mock/m' }),
      compacted(null, { step: 4 }),
    ])
    const events = lifecycle.events.filter(({ subject, type }) => subject === node.id && type === 'context.compacted')
    expect(events.map(({ data }) => data)).toEqual([
      { turn: 1, step: 3, kept: 1, text: 'In short.', truncated: false },
      { turn: 1, step: 4, kept: 1 },
    ])
  })
})
