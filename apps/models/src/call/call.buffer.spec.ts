import { describe, expect, it } from '@jest/globals'
import { CallBuffer } from './call.buffer.js'
import { CallSlots } from './call.slots.js'

const never = new AbortController().signal
const text = (value: string) => ({ type: 'text', text: value })
const all = async (items: AsyncIterable<{ text?: string }>): Promise<string> => {
  let said = ''
  for await (const item of items) said += item.text ?? ''
  return said
}

describe('the items of a running call', () => {
  it('reach every reader from the first one on, whenever it comes', async () => {
    const buffer = new CallBuffer<{ type: string; text: string }>()
    const early = all(buffer.read(never, () => undefined))
    buffer.push(text('a'))
    await Promise.resolve()
    buffer.push(text('b'))
    const late = all(buffer.read(never, () => undefined))
    buffer.push(text('c'))
    buffer.finish()
    expect(await Promise.all([early, late])).toEqual(['abc', 'abc'])
  })

  it('come to a late reader as one piece', async () => {
    const buffer = new CallBuffer<{ type: string; text: string }>()
    for (const letter of 'abc') buffer.push(text(letter))
    buffer.push({ type: 'reasoning', text: 'd' })
    buffer.finish()
    const items = []
    for await (const item of buffer.read(never, () => undefined)) items.push(item)
    expect(items).toEqual([text('abc'), { type: 'reasoning', text: 'd' }])
  })

  it('end with the error of the call', async () => {
    const buffer = new CallBuffer<{ type: string; text: string }>()
    buffer.push(text('a'))
    buffer.fail(new Error('broken'))
    await expect(all(buffer.read(never, () => undefined))).rejects.toThrow('broken')
  })

  it('are left by a reader without a word to the others, and it is told who is left', async () => {
    const buffer = new CallBuffer<{ type: string; text: string }>()
    const leaving = new AbortController()
    let left = 0
    const reading = all(
      buffer.read(leaving.signal, () => {
        left = buffer.readers
      }),
    )
    const other = all(buffer.read(never, () => undefined))
    await Promise.resolve()
    leaving.abort()
    await expect(reading).rejects.toMatchObject({ code: 'client_closed' })
    expect(left).toBe(1)
    buffer.push(text('x'))
    buffer.finish()
    expect(await other).toBe('x')
  })
})

describe('places for calls', () => {
  it('are given in turn, never more at once than there are', async () => {
    const slots = new CallSlots(10)
    const gates = [0, 1, 2].map(() => Promise.withResolvers<void>())
    let running = 0
    let most = 0
    const work = gates.map((gate) =>
      slots.run(2, never, async () => {
        running += 1
        most = Math.max(most, running)
        await gate.promise
        running -= 1
      }),
    )
    for (const gate of gates) gate.resolve()
    await Promise.all(work)
    expect(most).toBe(2)
  })

  it('are refused to more than may wait, and left by whoever goes away', async () => {
    const slots = new CallSlots(1)
    const gate = Promise.withResolvers<void>()
    const first = slots.run(1, never, () => gate.promise)
    const leaving = new AbortController()
    const second = slots.run(1, leaving.signal, async () => undefined)
    await expect(slots.run(1, never, async () => undefined)).rejects.toMatchObject({ code: 'rate_limited' })
    leaving.abort()
    await expect(second).rejects.toMatchObject({ code: 'client_closed' })
    gate.resolve()
    await first
    await expect(slots.run(1, never, async () => 'free')).resolves.toBe('free')
  })
})
