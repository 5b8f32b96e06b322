import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { streamText } from 'ai'
import { MockModel } from './mock-model.js'
import { waitFor } from './wait-for.js'

describe('the mock model', () => {
  let mock: MockModel

  beforeEach(async () => {
    mock = await MockModel.start()
  })
  afterEach(() => mock.stop())

  const provider = () =>
    createOpenAICompatible({
      name: 'mock',
      baseURL: mock.baseUrl('openai-compatible'),
      apiKey: 'k',
      includeUsage: true,
    })
  const ask = (prompt: string) =>
    streamText({ model: provider()('m-1'), prompt, maxRetries: 0, onError: () => undefined })
  /** Below any client that would try again. */
  const post = (more = {}, signal?: AbortSignal) =>
    fetch(`${mock.baseUrl('openai')}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }], ...more }),
      ...(signal && { signal }),
    })

  it('streams a chat completion and keeps the request', async () => {
    mock.conversation({ prompt: 'hello' }, [
      { text: 'a longer greeting', chunkSize: 4, usage: { input: 7, output: 3 } },
    ])

    const deltas: string[] = []
    const answer = ask('say hello')
    for await (const delta of answer.textStream) deltas.push(delta)

    expect(deltas.join('')).toBe('a longer greeting')
    expect(deltas.length).toBeGreaterThan(2)
    expect(await answer.usage).toMatchObject({ inputTokens: 7, outputTokens: 3 })
    expect(mock.requests()).toMatchObject([
      { path: '/v1/chat/completions', status: 200, body: { model: 'm-1', stream: true } },
    ])
  })

  it('speaks the Anthropic protocol too', async () => {
    mock.always({ text: 'good day' })

    const answer = streamText({
      model: createAnthropic({ baseURL: mock.baseUrl('anthropic'), apiKey: 'k' })('claude-sonnet-4-5'),
      prompt: 'hello',
    })

    expect(await answer.text).toBe('good day')
  })

  it('answers a conversation turn by turn, and a repeated request the same again', async () => {
    mock.conversation({}, [{ toolCalls: [{ name: 'bash', input: { command: 'ls' }, id: 'call_1' }] }, { text: 'done' }])

    for (const _ of [1, 2])
      expect(await ask('go').toolCalls).toMatchObject([{ toolName: 'bash', toolCallId: 'call_1' }])
  })

  it('fails as often as told and then answers', async () => {
    mock.always({ text: 'at last' }).next({ error: { status: 500 } }, 2)

    await post()
    await post()

    expect(await ask('hello').text).toBe('at last')
    expect(mock.requests().map(({ status }) => status)).toEqual([500, 500, 200])
  })

  it('says how long to wait when it limits the rate', async () => {
    mock.next({ error: { status: 429, retryAfter: 30 } })

    const response = await post()

    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '30'])
  })

  it('cuts a stream off in the middle', async () => {
    mock.next({ text: 'never to be read to its end', chunkSize: 3, cutAfterChunks: 3 })

    const errors: unknown[] = []
    for await (const part of ask('hello').stream) if (part.type === 'error') errors.push(part.error)

    expect(errors).toHaveLength(1)
  })

  // It wrote to nobody, and the process of the tests could not end.
  it('ends a slow answer whose reader has left', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    mock.always({ text: 'and so on '.repeat(60), chunkSize: 1, pace: 100 })
    const leaving = new AbortController()
    const { body } = await post({ stream: true }, leaving.signal)
    await body?.getReader().read()
    leaving.abort()
    await waitFor(() => timers() <= before, { what: 'the end of the answer' })
  })

  it('holds an answer back until it is released', async () => {
    const release = mock.hold({ text: 'now' })
    const answer = ask('hello').text
    release()

    expect(await answer).toBe('now')
  })
})
