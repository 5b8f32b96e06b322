import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Delta } from '#common/contract/node.schema.js'
import { InProgressStore } from './in-progress.store.js'

const delta = (offset: number, text: string, more: Partial<Delta> = {}): Delta => ({
  generation: 1,
  message: 1,
  channel: 'text',
  offset,
  text,
  ...more,
})
const opened = (): InProgressStore => {
  const store = new InProgressStore()
  store.open('n', 1, 'root')
  return store
}
const texts = (store: InProgressStore): string[] => store.of('n').map(({ text }) => text)

describe('the text in progress', () => {
  it('is what came, however often a piece of it came again', () => {
    const cuts = fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 10 })), { maxLength: 20 })
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 30 }), cuts, (whole, pieces) => {
        const store = opened()
        let known = 0
        store.append('n', delta(0, whole.slice(0, 1)))
        known = 1
        for (const [from, length] of pieces) {
          const taken = store.append('n', delta(from || 1, whole.slice(from || 1, (from || 1) + length)))
          expect(taken).toBe((from || 1) <= known)
          if (taken) known = Math.max(known, Math.min((from || 1) + length, whole.length))
        }
        expect(texts(store)).toEqual([whole.slice(0, known)])
      }),
    )
  })

  it('starts afresh at offset 0, and knows nothing of a text whose beginning it missed', () => {
    const store = opened()
    expect(store.append('n', delta(5, 'late'))).toBe(false)
    expect(texts(store)).toEqual([])
    store.append('n', delta(0, 'one'))
    store.append('n', delta(0, 'two'))
    expect(texts(store)).toEqual(['two'])
  })

  it('keeps channels, calls and messages apart', () => {
    const store = opened()
    store.append('n', delta(0, 'a'))
    store.append('n', delta(0, 'b', { channel: 'reasoning' }))
    store.append('n', delta(0, 'c', { channel: 'stdout', call_id: 'x' }))
    store.append('n', delta(0, 'd', { channel: 'stdout', call_id: 'y' }))
    store.append('n', delta(0, 'e', { message: 2 }))
    expect(texts(store)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('is bounded: the end of a long text, the newest of many, and in all 256 Ki characters a node', () => {
    const store = opened()
    store.append('n', delta(0, 'x'.repeat(100_000)))
    store.append('n', delta(100_000, `${'y'.repeat(100_000)}!`))
    expect(store.of('n')[0]).toMatchObject({ truncated: true })
    expect(texts(store)[0]).toHaveLength(128 * 1024)
    expect(texts(store)[0]?.endsWith('y!')).toBe(true)
    expect(store.append('n', delta(200_001, 'more'))).toBe(true)
    for (let message = 2; message <= 200; message += 1) store.append('n', delta(0, 'z'.repeat(10_000), { message }))
    expect(texts(store).join('').length).toBeLessThanOrEqual(256 * 1024)
    expect(store.of('n').length).toBeLessThanOrEqual(64)
    expect(store.of('n').at(-1)?.message).toBe(200)
  })

  it('is that of the process that was let in last, and of nobody when the node is closed', () => {
    const store = opened()
    store.append('n', delta(0, 'old'))
    expect([store.rootOf('n', 1), store.rootOf('n', 2), store.rootOf('m', 1)]).toEqual(['root', undefined, undefined])
    store.open('n', 2, 'root')
    expect(texts(store)).toEqual([])
    store.close('n')
    expect(store.append('n', delta(0, 'late'))).toBe(false)
    expect([store.of('n'), store.isStreaming('n'), store.rootOf('n', 2)]).toEqual([[], false, undefined])
  })

  it('is cleared when its message is recorded, and goes on with the next', () => {
    const store = opened()
    store.append('n', delta(0, 'one'))
    store.clear('n')
    expect(store.isStreaming('n')).toBe(false)
    expect(store.append('n', delta(0, 'two', { message: 2 }))).toBe(true)
  })
})
