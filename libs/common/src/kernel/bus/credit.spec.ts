import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { CreditReturn, CreditWindow } from './credit.js'

const window = { items: 4, bytes: 100 }

describe('CreditWindow', () => {
  it('closes at its number of items', () => {
    const credit = new CreditWindow(window)
    for (let sent = 0; sent < 4; sent += 1) credit.take(1)
    expect(credit.open).toBe(false)
  })

  it('closes at its number of bytes', () => {
    const credit = new CreditWindow(window)
    credit.take(100)
    expect(credit.open).toBe(false)
  })

  it('lets an item pass that is larger than the whole window', () => {
    const credit = new CreditWindow(window)
    expect(credit.open).toBe(true)
    credit.take(5000)
    credit.give({ items: 1, bytes: 5000 })
    expect(credit.open).toBe(true)
  })

  it('wakes the producer when room is given back, not before', async () => {
    const credit = new CreditWindow({ items: 2, bytes: 100 })
    credit.take(60)
    credit.take(60)
    let woken = false
    const room = credit.room().then(() => {
      woken = true
    })
    credit.give({ items: 1, bytes: 10 })
    await Promise.resolve()
    expect(woken).toBe(false)
    credit.give({ items: 0, bytes: 50 })
    await room
    expect(woken).toBe(true)
  })
})

describe('flow control of both sides together', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 250 }), { minLength: 1, maxLength: 200 })
  const frames = fc.integer({ min: 1, max: 7 })

  it('never stops for good, and never has more on its way than the window and one item', () => {
    fc.assert(
      fc.property(sizes, frames, (items, perFrame) => {
        const credit = new CreditWindow(window)
        const returns = new CreditReturn(window)
        let sent = 0
        while (sent < items.length) {
          expect(credit.open).toBe(true)
          const onWay: number[] = []
          while (credit.open && sent < items.length) {
            const size = items[sent] ?? 0
            credit.take(size)
            onWay.push(size)
            sent += 1
          }
          expect(credit.inFlight.items).toBeLessThanOrEqual(window.items)
          expect(credit.inFlight.bytes).toBeLessThan(window.bytes + 250)
          while (onWay.length > 0) {
            const frame = onWay.splice(0, perFrame)
            const grant = returns.consume(
              frame.length,
              frame.reduce((sum, size) => sum + size, 0),
            )
            if (grant) credit.give(grant)
          }
        }
      }),
    )
  })
})
