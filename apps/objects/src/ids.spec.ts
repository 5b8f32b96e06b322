import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { idPattern } from '#common/contract/common.schema.js'
import { newId } from '#common/kernel/ids.js'
import { deliveryIdOf, deliverySeqOf, eventIdOf, eventSeqOf } from './ids.js'

const seq = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

describe('ids of deliveries and events', () => {
  it('are identifiers, and say the number again', () => {
    const receiver = newId('obj')
    fc.assert(
      fc.property(seq, (number) => {
        expect(deliveryIdOf(receiver, number)).toMatch(idPattern('dlv'))
        expect(eventIdOf(receiver, number)).toMatch(idPattern('evt'))
        expect(deliverySeqOf(receiver, deliveryIdOf(receiver, number))).toBe(number)
        expect(eventSeqOf(receiver, eventIdOf(receiver, number))).toBe(number)
      }),
    )
  })

  it('are nothing to another receiver', () => {
    const [one, other] = [newId('obj'), newId('obj')]
    expect(deliverySeqOf(one, deliveryIdOf(other, 7))).toBeUndefined()
    expect(deliverySeqOf(one, newId('dlv'))).toBeUndefined()
    expect(deliverySeqOf(one, deliveryIdOf(one, 0))).toBeUndefined()
  })
})
