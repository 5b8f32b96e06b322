import { describe, expect, it } from '@jest/globals'
import type { ContentPart, JournalEntry } from '#sdk/generated/types.js'
import { nextTurnOf, openTurnOf } from '../node/turn.state.js'
import { conversationOf } from './conversation.js'
import { withOwnCallIds } from './tool.calls.js'
import { endingOf } from './turn.ending.js'

const said = (text: string): ContentPart => ({ type: 'text', text })
const call = (call_id: string, name = 'bash'): ContentPart => ({ type: 'tool_call', call_id, name, input: {} })
const turn = (number: number, text: string): JournalEntry => ({
  type: 'turn_started',
  turn: number,
  mail: [`msg_${number}`],
  content: [{ type: 'text', text, provider_metadata: { svc: { mail: `msg_${number}` } } }],
})
const message = (content: ContentPart[], step = 1, number = 1): JournalEntry => ({
  type: 'message',
  turn: number,
  step,
  role: 'assistant',
  content,
})
const started = (call_id: string, number = 1): JournalEntry => ({
  type: 'tool_started',
  turn: number,
  step: 1,
  call_id,
  name: 'bash',
  input: {},
})
const ended = (call_id: string, output: string, number = 1): JournalEntry => ({
  type: 'tool_ended',
  turn: number,
  step: 1,
  call_id,
  name: 'bash',
  status: 'completed',
  output,
})
const over = (number: number, status: 'completed' | 'interrupted' = 'completed'): JournalEntry => ({
  type: 'turn_ended',
  turn: number,
  status,
})

describe('a conversation from its journal', () => {
  it('answers each call right after the message that made it, in the order of the calls', () => {
    const steering: JournalEntry = { type: 'message', turn: 1, step: 1, role: 'user', content: [said('hurry')] }
    const journal = [
      turn(1, 'go'),
      message([said('so'), call('a'), call('b')]),
      started('a'),
      started('b'),
      steering,
      ended('b', '2'),
      ended('a', '1'),
    ]
    expect(conversationOf(journal)).toEqual([
      { role: 'user', content: [said('go')] },
      { role: 'assistant', content: [said('so'), call('a'), call('b')] },
      {
        role: 'tool',
        content: [
          { type: 'tool_result', call_id: 'a', name: 'bash', output: '1', failed: false },
          { type: 'tool_result', call_id: 'b', name: 'bash', output: '2', failed: false },
        ],
      },
      { role: 'user', content: [said('hurry')] },
    ])
  })

  it('says of a call without an end that it was not carried out, and keeps calls of other turns apart', () => {
    const journal = [
      turn(1, 'go'),
      message([call('a')]),
      ended('a', 'first'),
      over(1),
      turn(2, 'again'),
      message([call('a')], 1, 2),
      over(2),
    ]
    const results = conversationOf(journal).filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => (content[0] as { output: string }).output)).toEqual([
      'first',
      'This call was not carried out.',
    ])
  })

  it('tells that the turn before was interrupted, once', () => {
    const journal = [turn(1, 'go'), over(1, 'interrupted'), turn(2, 'stop that'), over(2), turn(3, 'more')]
    const texts = conversationOf(journal).map(({ content }) => content.length)
    expect(texts).toEqual([1, 2, 1])
  })

  it('gives providers back what they noted, and none of our own notes', () => {
    const reasoning: ContentPart = {
      type: 'reasoning',
      text: 'hm',
      provider_metadata: { anthropic: { signature: 's' } },
    }
    const [first, second] = conversationOf([turn(1, 'go'), message([reasoning])])
    expect(first?.content[0]).toEqual(said('go'))
    expect(second?.content[0]).toEqual(reasoning)
  })
})

describe('images that tools answered', () => {
  const seen = (number: number, bytes: number): JournalEntry[] => {
    const images = [{ content_type: 'image/png' as const, base64: String(number).padEnd(bytes, 'A') }]
    return [
      turn(number, 'look'),
      message([call(`c${number}`)], 1, number),
      { ...ended(`c${number}`, `image ${number}`, number), images } as JournalEntry,
      over(number),
    ]
  }
  const results = (journal: JournalEntry[]) =>
    conversationOf(journal)
      .flatMap(({ content }) => content)
      .filter((part) => part.type === 'tool_result')

  it('stand in the conversation beside what the tool said', () => {
    expect(results(seen(1, 8))).toEqual([
      {
        type: 'tool_result',
        call_id: 'c1',
        name: 'bash',
        output: 'image 1',
        failed: false,
        images: [{ content_type: 'image/png', base64: '1AAAAAAA' }],
      },
    ])
  })

  // Two large pictures made every later call longer than what the daemon takes, and the node could not go on.
  it('make room for newer ones when one call would not take them all, and say so', () => {
    const mebibyte = 1024 * 1024
    const [oldest, older, newest] = results([...seen(1, 1000), ...seen(2, 5 * mebibyte), ...seen(3, 5 * mebibyte)])
    expect(newest?.images).toHaveLength(1)
    expect(older).toMatchObject({ output: expect.stringContaining('read it again') })
    expect(older).not.toHaveProperty('images')
    expect(oldest).not.toHaveProperty('images')
    const many = Array.from({ length: 30 }, (_, at) => seen(at + 1, 8)).flat()
    expect(results(many).map(({ images }) => images?.length ?? 0)).toEqual([...Array(10).fill(0), ...Array(20).fill(1)])
  })
})

describe('an open turn', () => {
  it('is the last one without an end, with the calls whose end nobody recorded', () => {
    const journal = [
      turn(1, 'go'),
      over(1),
      turn(2, 'on'),
      message([call('a'), call('b')], 1, 2),
      started('a', 2),
      started('b', 2),
      ended('b', 'x', 2),
    ]
    expect(openTurnOf(journal)).toMatchObject({ turn: 2, dangling: [{ call_id: 'a' }] })
    expect(openTurnOf([...journal, over(2)])).toBeUndefined()
    expect(nextTurnOf(journal, 0)).toBe(3)
    expect(nextTurnOf([], 0)).toBe(1)
    expect(nextTurnOf([], 7)).toBe(8)
  })
})

describe('ids of calls', () => {
  it('are made unique within a turn, whatever the provider numbers', () => {
    const content = withOwnCallIds([call('call_0'), call('call_0'), call('x')], [started('x')], 2)
    const ids = content.map((part) => (part as { call_id: string }).call_id)
    expect(new Set([...ids, 'x']).size).toBe(4)
    expect(ids[0]).toBe('call_0')
  })
})

describe('the end of a turn', () => {
  const stopped = (text: string, turn: readonly JournalEntry[] = [], finish_reason: 'stop' | 'length' = 'stop') => ({
    answer: { content: text ? [said(text)] : [], finish_reason },
    turn,
    worked: false,
  })
  const terminal = {
    lifecycle: 'terminal',
    mode: 'base',
    result_schema: null,
    context: 1,
    engagement: 1,
    forked_from: null,
  } as const

  it("makes a terminal node's last words its final report", () => {
    expect(endingOf(terminal, stopped('all done'))).toEqual({ do: 'end', final: 'all done' })
    expect(endingOf({ ...terminal, lifecycle: 'resident' }, stopped('hello'))).toEqual({ do: 'end' })
  })

  it('reminds once of what is owed, then gives up', () => {
    for (const [owes, words] of [
      [{ ...terminal, result_schema: {} }, 'done'],
      [terminal, ''],
    ] as const) {
      const first = endingOf(owes, stopped(words))
      if (first.do !== 'nudge') throw new Error('expected a reminder')
      const reminded: JournalEntry = { type: 'message', turn: 1, step: 1, role: 'user', content: [first.part] }
      expect(endingOf(owes, stopped(words, [reminded]))).toMatchObject({ do: 'fail' })
    }
  })

  it('lets an answer that was cut off go on', () => {
    expect(endingOf(terminal, stopped('half', [], 'length'))).toMatchObject({ do: 'nudge' })
  })
})
