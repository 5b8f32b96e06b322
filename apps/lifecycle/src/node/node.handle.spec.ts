import { describe, expect, it } from '@jest/globals'
import { handleOf } from './node.handle.js'

describe('the handle of a node', () => {
  it.each([
    ['count the files', 'count the files'],
    ['\n\n  # Fix the *build*\nnow', 'Fix the *build*'],
    ['---\n> 1. **Look** at `main.ts`', 'Look at main.ts'],
    ['- [ ] one\n- [ ] two', 'one'],
    ['a\tb\u0007 c', 'a b c'],
    ['###', null],
    ['…!\n', null],
  ])('of %j is %j', (prompt, handle) => {
    expect(handleOf(prompt)).toBe(handle)
  })

  it('is cut between words, and has at most 80 characters', () => {
    const handle = handleOf('word '.repeat(40)) as string
    expect(handle).toBe(`${'word '.repeat(15).trim()}…`)
    const unbroken = handleOf('𠀀'.repeat(200)) as string
    expect([...unbroken]).toHaveLength(80)
    expect(unbroken.isWellFormed()).toBe(true)
  })
})
