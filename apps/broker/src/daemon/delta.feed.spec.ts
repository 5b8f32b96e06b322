import { describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { Delta } from '#sdk/generated/types.js'
import { DeltaFeed } from './delta.feed.js'

type Answer = { resync: boolean }

/** A daemon that answers when it is told to. */
const feeding = () => {
  const batches: Delta[][] = []
  const waiting: ((answer: Answer) => void)[] = []
  const feed = new DeltaFeed(1, (deltas) => {
    batches.push(deltas)
    return new Promise<Answer>((resolve) => waiting.push(resolve))
  })
  return { feed, batches, answer: (resync = false) => waiting.shift()?.({ resync }) }
}

const lengthOf = (batch: readonly Delta[] | undefined): number =>
  (batch ?? []).reduce((length, { text }) => length + text.length, 0)

describe('what an engine says live', () => {
  it('is sent in one batch at a time, however much is said meanwhile', async () => {
    const { feed, batches, answer } = feeding()
    feed.begin()
    for (const word of ['a', 'b']) feed.push('text', word)
    await waitFor(() => batches.length === 1)
    for (const word of ['c', 'd']) feed.push('text', word)
    answer()
    await waitFor(() => batches.length === 2)
    expect(batches.map((batch) => batch.map(({ offset, text }) => [offset, text]))).toEqual([[[0, 'ab']], [[2, 'cd']]])
    feed.close()
  })

  // Fault 30: nobody took it, and the process that said it grew and grew.
  it('takes little memory while nobody takes it, and is told from its last 64 KiB on to who lost the rest', async () => {
    const { feed, batches, answer } = feeding()
    feed.begin()
    feed.push('tool_output', 'first', 'c1')
    await waitFor(() => batches.length === 1)
    for (let said = 0; said < 1000; said += 1) feed.push('tool_output', 'x'.repeat(10_000), 'c1')
    answer()
    await waitFor(() => batches.length === 2)
    expect(lengthOf(batches[1])).toBeLessThanOrEqual(128 * 1024)
    answer(true)
    await waitFor(() => batches.length === 3)
    expect(batches[2]).toMatchObject([{ offset: 0, call_id: 'c1', channel: 'tool_output' }])
    expect(lengthOf(batches[2])).toBe(64 * 1024)
    feed.close()
  })

  it('is forgotten once its message is recorded', async () => {
    const { feed, batches, answer } = feeding()
    feed.begin()
    feed.push('text', 'said')
    feed.recorded()
    feed.push('tool_output', 'out', 'c1')
    await waitFor(() => batches.length === 1)
    expect(batches[0]?.map(({ text }) => text)).toEqual(['out'])
    answer()
    feed.close()
  })
})
