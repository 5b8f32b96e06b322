import { describe, expect, it } from '@jest/globals'
import type { JournalEntry } from '#sdk/generated/types.js'
import { conversationOf } from '../loop/conversation.js'
import { compactionOf } from './compaction.plan.js'
import { bandNote } from './context.band.js'
import { gaugeOf, measureOf } from './context.gauge.js'
import { presentOf } from './present.entries.js'
import { transcriptOf } from './transcript.text.js'

const said = (text: string) => ({ type: 'text' as const, text })
const begun = (turn: number, text: string): JournalEntry => ({
  type: 'turn_started',
  turn,
  mail: [],
  content: [said(text)],
})

/** A step of one call, with an output of so many characters. */
const step = (
  turn: number,
  number: number,
  size: number,
  context?: { tokens: number; window: number },
): JournalEntry[] => {
  const call_id = `c${number}`
  const about = { turn, step: number, call_id, name: 'read' }
  return [
    {
      type: 'message',
      turn,
      step: number,
      role: 'assistant',
      content: [{ type: 'tool_call', call_id, name: 'read', input: {} }],
      ...(context && { context }),
    },
    { type: 'tool_started', ...about, input: {} },
    { type: 'tool_ended', ...about, status: 'completed', output: `${number}:${'o'.repeat(size)}` },
  ]
}

const steps = (count: number, size: number, from = 1): JournalEntry[] =>
  Array.from({ length: count }, (_, at) => step(1, from + at, size)).flat()

const compacted = (kept: number, summary: string | null): JournalEntry => ({
  type: 'compacted',
  turn: 1,
  step: 9,
  kept,
  summary,
})

/** Whether each call is answered right after the message that made it, and nothing else is. */
const isPaired = (journal: readonly JournalEntry[]): boolean => {
  const messages = conversationOf(journal)
  const callsOf = (at: number) =>
    messages[at]?.content.flatMap((part) => (part.type === 'tool_call' ? [part.call_id] : [])) ?? []
  return messages.every(({ content }, at) => {
    const results = content.flatMap((part) => (part.type === 'tool_result' ? [part.call_id] : []))
    return (
      results.join() === (results.length ? callsOf(at - 1).join() : '') &&
      (!callsOf(at).length || messages[at + 1]?.role === 'tool')
    )
  })
}

describe('the gauge', () => {
  it('is what the provider counted, and roughly what came since', () => {
    const journal = [begun(1, 'go'), ...step(1, 1, 4000, { tokens: 5000, window: 10_000 })]
    const { tokens, window } = gaugeOf(journal, 100)
    expect(window).toBe(10_000)
    expect(tokens).toBeGreaterThan(5900)
    expect(tokens).toBeLessThan(6200)
  })

  it('is a rough count before the first answer, and after the conversation was made smaller', () => {
    expect(gaugeOf([begun(1, 'x'.repeat(400))], 50)).toEqual({ tokens: 150, fixed: 50, window: undefined })
    const journal = [begun(1, 'go'), ...step(1, 1, 40_000, { tokens: 9500, window: 10_000 }), compacted(0, 'short')]
    expect(gaugeOf(journal, 50).tokens).toBeLessThan(150)
  })

  it('helps out where a provider counts nothing', () => {
    const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0 }
    const answer = {
      content: [],
      finish_reason: 'stop',
      model: 'a/b',
      usage,
      attempts: [],
      context_window: 8000,
    } as const
    expect(measureOf({ ...answer, content: [], attempts: [] }, 321)).toEqual({ context: { tokens: 321, window: 8000 } })
  })
})

describe('the bands', () => {
  it('are told of once each, the higher in place of the lower, and again after the conversation was made smaller', () => {
    const gauge = (tokens: number) => ({ tokens, window: 100 })
    expect(bandNote([], gauge(59), true)).toEqual([])
    const [hint] = bandNote([], gauge(60), true)
    const told: JournalEntry[] = [{ type: 'message', turn: 1, step: 1, role: 'user', content: [hint!] }]
    expect(bandNote(told, gauge(70), true)).toEqual([])
    const [tell] = bandNote(told, gauge(75), true)
    expect(tell).toMatchObject({ text: expect.stringContaining('Call yield now') })
    const both: JournalEntry[] = [...told, { type: 'message', turn: 1, step: 2, role: 'user', content: [tell!] }]
    expect(bandNote(both, gauge(89), true)).toEqual([])
    expect(bandNote([...both, compacted(0, 'x')], gauge(62), true)).toHaveLength(1)
    expect(bandNote([], gauge(80), false)).toMatchObject([{ text: expect.not.stringContaining('yield') }])
  })
})

describe('how a conversation is made smaller', () => {
  const planned = { tries: 0, refused: false }

  it('is by leaving out old outputs, where that is enough, never those of the newest two steps', () => {
    const journal = [begun(1, 'go'), ...steps(6, 6000)]
    const plan = compactionOf(journal, { tokens: 9100, window: 10_000, fixed: 1000 }, planned)
    expect(plan).toEqual({ do: 'elide', kept: 6 })
    const outputs = conversationOf([...journal, compacted(6, null)]).flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'tool_result' ? [part.output.length] : [])),
    )
    expect(outputs.map((length) => length > 5000)).toEqual([false, false, false, false, true, true])
  })

  it('is by a summary otherwise, beside whole steps that have room', () => {
    const journal = [begun(1, 'go'), ...steps(6, 1100)]
    expect(compactionOf(journal, { tokens: 9100, window: 10_000, fixed: 1000 }, planned)).toEqual({
      do: 'summarise',
      kept: 3,
    })
    expect(compactionOf(journal, { tokens: 9100, window: 10_000, fixed: 1000 }, { tries: 1, refused: true })).toEqual({
      do: 'summarise',
      kept: 0,
    })
  })

  it('is not when all that is there is what it began with, or two summaries did not help', () => {
    const full = { tokens: 9999, window: 10_000, fixed: 1000 }
    expect(compactionOf([begun(1, 'x'.repeat(90_000))], full, { tries: 0, refused: true })).toBeUndefined()
    expect(compactionOf([begun(1, 'go'), ...steps(9, 1100)], full, { tries: 2, refused: true })).toBeUndefined()
  })

  // Instructions and tools alone filled a small model's window: each step paid for a summary that gained nothing.
  it('is not tried where nearly nothing would be gained', () => {
    const journal = [begun(1, 'go'), ...steps(2, 300)]
    expect(compactionOf(journal, { tokens: 9500, window: 10_000, fixed: 9300 }, planned)).toBeUndefined()
  })

  it('leaves every call answered, wherever it is cut', () => {
    const journal = [
      begun(1, 'go'),
      ...steps(5, 900),
      { type: 'turn_ended', turn: 1, status: 'completed' } as const,
      begun(2, 'more'),
      ...step(2, 6, 900),
    ]
    for (let at = 2; at <= journal.length; at += 1) {
      const before = journal.slice(0, at)
      for (const window of [1000, 3000, 10_000]) {
        const plan = compactionOf(before, { tokens: window, window, fixed: 0 }, { tries: 0, refused: true })
        if (!plan) continue
        const entry = compacted(plan.kept, plan.do === 'elide' ? null : 'in short')
        expect(isPaired([...before, entry, ...journal.slice(at)])).toBe(true)
      }
    }
  })

  it('keeps the mandate, and what a summary before said, out of sight of neither', () => {
    const journal = [begun(1, 'the mandate'), ...steps(3, 900), compacted(3, 'first summary'), ...steps(3, 900, 4)]
    expect(presentOf(journal)).toMatchObject({ summary: 'first summary', from: 7 })
    const texts = JSON.stringify(conversationOf(journal))
    expect(texts).toContain('the mandate')
    expect(texts).toContain('first summary')
    expect(texts).not.toContain('"2:ooo')
    const again = JSON.stringify(conversationOf([...journal, compacted(0, 'second summary')]))
    expect(again).toContain('the mandate')
    expect(again).not.toMatch(/first summary|ooo/)
  })
})

describe('a transcript', () => {
  it('keeps to its room: pieces are cut, then the middle is left out, in sight', () => {
    const messages = conversationOf([begun(1, 'the mandate'), ...steps(200, 5000)])
    const text = transcriptOf(messages, 20_000)
    expect(text.length).toBeLessThan(21_000)
    expect(text).toContain('the mandate')
    expect(text).toMatch(/\[… \d+ pieces of the conversation left out …\]/)
    expect(text).toContain('200:ooo')
    expect(transcriptOf(messages.slice(0, 3), 20_000)).not.toContain('left out')
  })
})
