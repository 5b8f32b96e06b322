import { describe, expect, it } from '@jest/globals'
import { worktreeStates } from '#common/contract/worktree.schema.js'
import { worktreeMachine } from './worktree.machine.js'
import { branchNameOf } from './worktree.making.js'

describe('the machine of a worktree', () => {
  for (const status of worktreeMachine.states) {
    for (const event of worktreeMachine.events) {
      const target = worktreeMachine.next(status, event)
      it(target ? `goes from ${status} to ${target} on ${event}` : `refuses to ${event} when ${status}`, () => {
        const act = () => worktreeMachine.apply({ status }, event)
        if (target) expect(act()).toEqual({ status: target })
        else
          expect(act).toThrow(expect.objectContaining({ code: 'illegal_transition', fields: { state: status, event } }))
      })
    }
  }

  it('knows the states that the contract knows, and leads from each to one where it rests', () => {
    expect(worktreeMachine.states).toEqual(worktreeStates)
    expect(worktreeStates.filter((state) => !worktreeMachine.legal(state).length)).toEqual(['closed', 'abandoned'])
  })
})

describe('the name of a branch', () => {
  const id = 'node_01jd0000000000000000abcdef'
  it.each([
    ['fix the bug', 'svc/fix-the-bug-abcdef'],
    ['../..', 'svc/node-abcdef'],
    ['日本', 'svc/node-abcdef'],
    [`${'x'.repeat(100)}.lock`, `svc/${'x'.repeat(40)}-abcdef`],
  ])('of %s is %s', (name, branch) => {
    expect(branchNameOf(name, id)).toBe(branch)
  })
})
