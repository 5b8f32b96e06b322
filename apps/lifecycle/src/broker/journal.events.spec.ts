import { describe, expect, it } from '@jest/globals'
import type { JournalEntry } from '#common/contract/broker.schema.js'
import { eventsOf } from './journal.events.js'

const long = 'x'.repeat(20_000)
const of = (entry: JournalEntry) => eventsOf(entry)[0]

describe('what is told of a journal entry', () => {
  it('names the turn, and the mail that it took in', () => {
    expect(of({ type: 'turn_started', turn: 2, mail: ['m'], content: [{ type: 'text', text: 'secret' }] })).toEqual({
      type: 'turn.started',
      data: { turn: 2, mail: ['m'] },
    })
  })

  it('shows every kind of content, long texts cut and pictures left out', () => {
    const shown = of({
      type: 'message',
      turn: 1,
      step: 1,
      role: 'assistant',
      content: [
        { type: 'text', text: long, provider_metadata: { signature: 's' } },
        { type: 'reasoning', text: 'why' },
        { type: 'image', content_type: 'image/png', base64: long },
        { type: 'tool_call', call_id: 'c', name: 'bash', input: { command: long } },
        { type: 'tool_result', call_id: 'c', name: 'bash', output: long, failed: false },
      ],
    })
    expect(shown?.data.content).toEqual([
      { type: 'text', text: 'x'.repeat(8000), truncated: true },
      { type: 'reasoning', text: 'why', truncated: false },
      { type: 'image', content_type: 'image/png' },
      {
        type: 'tool_call',
        call_id: 'c',
        name: 'bash',
        input: { truncated: true, beginning: expect.stringContaining('command') },
      },
      { type: 'tool_result', call_id: 'c', name: 'bash', text: 'x'.repeat(8000), truncated: true },
    ])
  })

  it('stays small however many pieces a message has', () => {
    const content = Array.from({ length: 500 }, () => ({ type: 'text' as const, text: long }))
    const shown = of({ type: 'message', turn: 1, step: 1, role: 'assistant', content })
    expect(JSON.stringify(shown).length).toBeLessThan(100_000)
    expect(shown?.data.content).toHaveLength(64)
    expect(shown?.data.parts).toBe(500)
  })

  it('says how a tool ended', () => {
    const ended: JournalEntry = {
      type: 'tool_ended',
      turn: 1,
      step: 1,
      call_id: 'c',
      name: 'bash',
      status: 'outcome_unknown',
      output: 'nobody knows',
    }
    expect(of(ended)).toMatchObject({
      type: 'tool.ended',
      data: { status: 'outcome_unknown', output: 'nobody knows', truncated: false, exit_code: null, duration_ms: null },
    })
  })

  it('names the images that a tool answered, without their bytes', () => {
    const images = [{ content_type: 'image/png' as const, base64: long }]
    const shown = of({
      ...{ type: 'tool_ended', turn: 1, step: 1, call_id: 'c', name: 'read', status: 'completed' },
      output: 'a.png',
      images,
    })
    expect(shown?.data.images).toEqual([{ content_type: 'image/png' }])
    expect(JSON.stringify(shown)).not.toContain('xxxx')
  })

  it('says how a turn ended', () => {
    const fault = { kind: 'auth', message: 'no' } as const
    expect(of({ type: 'turn_ended', turn: 3, status: 'failed', fault, final: 'f' })).toEqual({
      type: 'turn.ended',
      data: { turn: 3, status: 'failed', fault },
    })
  })
})
