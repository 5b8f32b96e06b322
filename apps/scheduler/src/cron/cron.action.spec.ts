import { describe, expect, it } from '@jest/globals'
import type { PossibleAction } from '#common/contract/cron.schema.js'
import { nameOf, requirePossible } from './cron.action.js'

const message = (body: string): PossibleAction => ({ type: 'message', node_id: 'node_1', body, tier: 'normal' })

describe('the name of a schedule that was given none', () => {
  it('is the beginning of what it says', () => {
    expect(nameOf(message('  Look at\n\tthe build '))).toBe('Look at the build')
    expect(nameOf(message('x'.repeat(500)))).toBe(`${'x'.repeat(59)}…`)
    expect([...nameOf(message('🜚'.repeat(500)))]).toHaveLength(60)
  })

  it('is the command, or the name of the node that is made', () => {
    expect(nameOf({ type: 'bash', cwd: '/tmp', command: 'make test', timeout: 1000 })).toBe('make test')
    expect(nameOf({ type: 'create_node', prompt: 'go', name: 'reviewer' })).toBe('reviewer')
    expect(nameOf({ type: 'create_node', prompt: 'go' })).toBe('go')
  })

  it('is what it is when nothing of that can be read', () => {
    expect(nameOf(message(' \u0007 '))).toBe('message')
  })
})

describe('what a schedule does', () => {
  const zero = { code: 'validation_failed' }
  // A message with it was taken, and refused at each firing.
  it('holds no U+0000 anywhere, since nobody could be told it', () => {
    expect(() => requirePossible(message('a\0b'))).toThrow(expect.objectContaining(zero))
    expect(() => requirePossible(message('a\\\0b'))).toThrow(expect.objectContaining(zero))
    expect(() =>
      requirePossible({ type: 'create_node', prompt: 'go', result_schema: { properties: { 'a\0': {} } } }),
    ).toThrow(expect.objectContaining(zero))
  })

  // One row with it failed the statement that looks for firings which nobody holds.
  it('holds no half of a character', () => {
    expect(() => requirePossible({ type: 'bash', cwd: '/tmp/\ud83d', command: 'true', timeout: 1000 })).toThrow(
      expect.objectContaining(zero),
    )
    expect(requirePossible(message('\u{1f600}'))).toMatchObject({ type: 'message' })
  })

  it('may speak of it', () => {
    expect(requirePossible(message('\\u0000 is the end of a string'))).toMatchObject({ type: 'message' })
    expect(requirePossible(message('\\ud83d'))).toMatchObject({ type: 'message' })
  })
})
