import { describe, expect, it } from '@jest/globals'
import { defaultContextWindows, defaultLadders } from './config.defaults.js'
import { contextWindowOf } from './context-window.js'

describe('the context window of a model', () => {
  it("is the owner's word, else what is published, else a careful guess by the kind of provider", () => {
    const own = { 'anthropic/claude-haiku-4-5': 50_000, 'local/tiny': 8192 }
    expect(contextWindowOf('anthropic/claude-haiku-4-5', 'anthropic', own)).toBe(50_000)
    expect(contextWindowOf('anthropic/claude-haiku-4-5', 'anthropic', {})).toBe(200_000)
    expect(contextWindowOf('local/tiny', 'openai-compatible', own)).toBe(8192)
    expect(contextWindowOf('local/other', 'openai-compatible', own)).toBe(65_536)
    expect(contextWindowOf('openai/gpt-9', 'openai', {})).toBe(128_000)
  })

  it('is known of every model of the built-in ladders', () => {
    for (const rung of Object.values(defaultLadders).flat()) expect(defaultContextWindows[rung]).toBeGreaterThan(0)
  })
})
