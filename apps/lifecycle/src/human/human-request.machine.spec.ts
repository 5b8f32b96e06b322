import { describe, expect, it } from '@jest/globals'
import { humanRequestStatuses } from '#common/contract/human.schema.js'
import { humanRequestMachine } from './human-request.machine.js'

describe('the machine of a request', () => {
  for (const event of humanRequestMachine.events) {
    it(`lets it ${event} while it is open, and never after`, () => {
      expect(humanRequestMachine.next('pending', event)).toBeDefined()
      for (const status of humanRequestStatuses.filter((one) => one !== 'pending')) {
        expect(() => humanRequestMachine.apply({ status }, event)).toThrow(
          expect.objectContaining({ code: 'illegal_transition', fields: { state: status, event } }),
        )
      }
    })
  }
})
