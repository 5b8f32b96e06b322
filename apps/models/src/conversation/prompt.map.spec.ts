import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, it } from '@jest/globals'
import type { ConversationMessage } from '#common/contract/index.js'
import { AnswerCollector } from './answer.collector.js'
import { promptOf as mapped } from './prompt.map.js'

const promptOf = (messages: ConversationMessage[], metadataKey: string | null, imagesInResults = true) =>
  mapped(messages, { metadataKey, imagesInResults })

const noUsage = {
  inputTokens: { total: 5, noCache: 3, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 7, text: 7, reasoning: 0 },
}
const finish = (unified: 'stop' | 'tool-calls' | 'interrupted' = 'stop'): LanguageModelV4StreamPart => ({
  type: 'finish',
  usage: noUsage,
  finishReason: { unified, raw: undefined },
})
const collectorOf = (...parts: LanguageModelV4StreamPart[]): AnswerCollector => {
  const collector = new AnswerCollector()
  for (const part of parts) collector.accept(part)
  return collector
}
const text = (value: string) => [{ type: 'text' as const, text: value }]

describe('an answer that was recorded', () => {
  it('goes back to its provider with all that the provider said of its parts', () => {
    const collected = collectorOf(
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-end', id: '0', providerMetadata: { anthropic: { signature: 'sig-1' } } },
      { type: 'text-start', id: '1', providerMetadata: { anthropic: { block: 1 } } },
      { type: 'text-delta', id: '1', delta: 'I look' },
      { type: 'text-end', id: '1' },
      {
        type: 'tool-call',
        toolCallId: 'c1',
        toolName: 'list',
        input: '{"path":"."}',
        providerMetadata: { google: { thoughtSignature: 's' } },
      },
      finish('tool-calls'),
    ).collect()
    expect(promptOf([{ role: 'assistant', content: collected.content }], 'anthropic')).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig-1' } } },
          { type: 'text', text: 'I look', providerOptions: { anthropic: { block: 1 } } },
          {
            type: 'tool-call',
            toolCallId: 'c1',
            toolName: 'list',
            input: { path: '.' },
            providerOptions: { google: { thoughtSignature: 's' } },
          },
        ],
      },
    ])
  })

  it('leaves its thoughts behind when it moves to another provider', () => {
    const thought = { type: 'reasoning' as const, text: 'hm', provider_metadata: { anthropic: { signature: 'sig' } } }
    const messages: ConversationMessage[] = [{ role: 'assistant', content: [thought, ...text('so')] }]
    expect(promptOf(messages, 'openai')).toEqual([{ role: 'assistant', content: text('so') }])
    expect(promptOf(messages, null)).toEqual([{ role: 'assistant', content: text('so') }])
  })

  it('merges what a provider says of a part at its beginning and at its end', () => {
    const { content } = collectorOf(
      {
        type: 'reasoning-start',
        id: 'r',
        providerMetadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: null } },
      },
      { type: 'reasoning-end', id: 'r', providerMetadata: { openai: { reasoningEncryptedContent: 'enc' } } },
      finish(),
    ).collect()
    expect(content).toEqual([
      {
        type: 'reasoning',
        text: '',
        provider_metadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'enc' } },
      },
    ])
  })
})

describe('a streamed answer', () => {
  it('keeps parts in the order in which they began, though they come interleaved', () => {
    const { content, tokens } = collectorOf(
      { type: 'text-start', id: 'a' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'two' },
      { type: 'text-delta', id: 'a', delta: 'one' },
      finish(),
    ).collect()
    expect(content).toEqual([...text('one'), ...text('two')])
    expect(tokens).toEqual({ input_tokens: 5, output_tokens: 7, cached_tokens: 2 })
  })

  it('marks a tool call whose input is no JSON, and keeps what was sent', () => {
    const call = (input: string) =>
      collectorOf({ type: 'tool-call', toolCallId: 'c', toolName: 'bash', input }, finish()).collect().content[0]
    expect(call('{"command": "ls')).toMatchObject({
      input: '{"command": "ls',
      invalid: expect.stringContaining('not valid JSON'),
    })
    expect(call('[1]')).toMatchObject({ input: [1], invalid: expect.stringContaining('not a JSON object') })
    expect(call('')).toEqual({ type: 'tool_call', call_id: 'c', name: 'bash', input: {} })
  })

  it('is whole only when its provider said so', () => {
    expect(collectorOf({ type: 'text-delta', id: 'a', delta: 'x' }).finished).toBe(false)
    expect(collectorOf({ type: 'text-delta', id: 'a', delta: 'x' }, finish('interrupted')).finished).toBe(false)
    expect(collectorOf(finish()).finished).toBe(true)
  })

  it('stopped for its tools when it called one, whatever its provider names as the reason', () => {
    const collected = collectorOf(
      { type: 'tool-call', toolCallId: 'c', toolName: 'bash', input: '{}' },
      finish('stop'),
    ).collect()
    expect(collected.finishReason).toBe('tool_calls')
  })
})

describe('a neutral conversation', () => {
  it('puts tool results before what the user says, in messages of their own', () => {
    const content = [
      ...text('and now?'),
      { type: 'tool_result' as const, call_id: 'c', name: 'bash', output: 'no', failed: true },
    ]
    expect(promptOf([{ role: 'user', content }], null)).toEqual([
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c', toolName: 'bash', output: { type: 'error-text', value: 'no' } },
        ],
      },
      { role: 'user', content: text('and now?') },
    ])
  })

  it('has instructions only at its beginning; a later one is marked inside a message of the user', () => {
    const system = (value: string): ConversationMessage => ({ role: 'system', content: text(value) })
    expect(
      promptOf([system('one'), system('two'), { role: 'user', content: text('hi') }, system('three')], null),
    ).toEqual([
      { role: 'system', content: 'one' },
      { role: 'system', content: 'two' },
      { role: 'user', content: text('hi') },
      { role: 'user', content: text('<system>\nthree\n</system>') },
    ])
  })

  it('sends an object for a call whose input could not be read, since providers take nothing else', () => {
    const call = { type: 'tool_call' as const, call_id: 'c', name: 'bash', input: '{"x', invalid: 'broken' }
    expect(promptOf([{ role: 'assistant', content: [call] }], null)).toEqual([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'bash', input: { unreadable_input: '{"x' } }],
      },
    ])
  })

  it('carries images as files', () => {
    expect(
      promptOf([{ role: 'user', content: [{ type: 'image', content_type: 'image/png', base64: 'aaaa' }] }], null),
    ).toEqual([
      { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aaaa' } }] },
    ])
  })

  describe('with images that a tool answered', () => {
    const images = [{ content_type: 'image/png' as const, base64: 'aaaa' }]
    const result = { type: 'tool_result' as const, call_id: 'c', name: 'read', output: 'a.png', failed: false, images }
    const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aaaa' } }
    const answer = (output: unknown) => ({
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'read', output }],
    })

    it('carries them in the result, where the provider takes them there', () => {
      expect(promptOf([{ role: 'tool', content: [result] }], null)).toEqual([
        answer({ type: 'content', value: [{ type: 'text', text: 'a.png' }, file] }),
      ])
    })

    it('else carries them right after all results, before what the user says', () => {
      expect(promptOf([{ role: 'user', content: [...text('and?'), result] }], null, false)).toEqual([
        answer({ type: 'text', value: 'a.png' }),
        { role: 'user', content: [...text('[What read (call c) shows:]'), file, ...text('and?')] },
      ])
    })
  })
})
