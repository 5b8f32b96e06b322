import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type ConversationMessage, contract, type LlmAnswer } from '#common/contract/index.js'
import type { MockProvider } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  as,
  bought,
  collect,
  type ModelsUnderTest,
  newNode,
  startModels,
  textOf,
  useMock,
  user,
} from '../../../../test/support/models-service.js'
import { startPatientProvider } from '../../../../test/support/patient-provider.js'
import { tapWire } from '../../../../test/support/wire-tap.js'

const llm = contract['llm.call']

let models: ModelsUnderTest
beforeAll(async () => {
  models = await startModels({ firstToken: 3000, idle: 3000 })
})
afterAll(() => models.stop())

const secrets: Record<string, string> = {
  openai: 'sk-test-openai-0123456789abcdef',
  anthropic: 'sk-ant-test-0123456789abcdef',
  google: 'AIzaTest0123456789abcdefghij',
}

/** All four kinds of provider at the one mock. */
const allProviders = async (): Promise<void> => {
  const at = (provider: MockProvider) => models.mock.baseUrl(provider)
  await useMock(models, {
    providers: {
      openai: { type: 'openai', base_url: at('openai') },
      anthropic: { type: 'anthropic', base_url: at('anthropic') },
      google: { type: 'google', base_url: at('google') },
      mock: { type: 'openai-compatible', base_url: at('openai-compatible') },
      nowhere: { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' },
      unnamed: { type: 'openai-compatible', base_url: 'http://no-such-host.invalid/v1' },
    },
    ladders: { medium: ['mock/test-model'] },
    prices: {},
    limits: {},
  })
  for (const [provider, api_key] of Object.entries(secrets)) {
    await models.gateway.bus.call(contract['models.credentials.install'], as(), { provider, kind: 'api_key', api_key })
  }
}

beforeEach(async () => {
  models.mock.reset()
  await models.database.query('DELETE FROM models.spend')
  await allProviders()
})

const call = (request: object): Promise<LlmAnswer> =>
  models.gateway.bus.call(llm, as(), {
    messages: [user('hello')],
    tools: [],
    tool_choice: 'auto',
    ...request,
  } as never) as Promise<LlmAnswer>
const stream = (request: object, signal?: AbortSignal) =>
  models.gateway.bus.stream(llm, as({}, signal), {
    messages: [user('hello')],
    tools: [],
    tool_choice: 'auto',
    ...request,
  } as never)

describe('what a call costs', () => {
  it('goes on the account of the node that asked, whose conversation it is no step of', async () => {
    const nodeId = newNode()
    const asked = () =>
      models.gateway.bus.call(llm, as({ kind: 'node', principal: `node:${nodeId}`, nodeId }), {
        messages: [user('hello')],
        tools: [],
        tool_choice: 'auto',
      } as never)
    models.mock.always({ text: 'paid', usage: { input: 7, output: 3 } })
    await asked()
    await asked()
    const mine = () => models.usage.filter(({ node_id }) => node_id === nodeId)
    await waitFor(() => mine().length === 2)
    expect(new Set(mine().map(({ source_event }) => source_event)).size).toBe(2)
    expect(mine()[0]).toEqual({
      source_event: expect.any(String),
      node_id: nodeId,
      model: 'mock/test-model',
      usage: { input_tokens: 7, output_tokens: 3, cached_tokens: 0, cost_usd: 0 },
    })
  })
})

const tool = {
  name: 'list',
  description: 'Lists files',
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
}
const served = [
  ['openai', 'openai/gpt-5.4'],
  ['anthropic', 'anthropic/claude-sonnet-4-6'],
  ['google', 'google/gemini-2.5-flash'],
  ['openai-compatible', 'mock/test-model'],
] as const

describe.each(served)('a model of %s', (_type, model) => {
  it('streams its text and tells its usage', async () => {
    models.mock.always({ text: 'good morning', chunkSize: 4, usage: { input: 12, output: 5 } })
    const items = await collect(stream({ model }))
    const streamed = items.flatMap((item) => (item.type === 'text' ? [item.text] : [])).join('')
    expect(streamed).toBe('good morning')
    expect(items.at(-1)).toMatchObject({
      type: 'answer',
      replayed: false,
      answer: { model, finish_reason: 'stop', usage: { input_tokens: 12, output_tokens: 5, cached_tokens: 0 } },
    })
  })

  it('calls tools, and takes their results in the next call', async () => {
    models.mock.conversation({}, [
      { toolCalls: [{ name: 'list', input: { path: 'src' }, id: 'call_abc' }] },
      { text: 'two files' },
    ])
    const first = await call({ model, tools: [tool] })
    expect(first.finish_reason).toBe('tool_calls')
    const asked = first.content.find((part) => part.type === 'tool_call')
    expect(asked).toMatchObject({ name: 'list', input: { path: 'src' } })
    if (asked?.type !== 'tool_call') throw new Error('no tool was called')
    const messages: ConversationMessage[] = [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      user('hello'),
      { role: 'assistant', content: first.content },
      {
        role: 'tool',
        content: [{ type: 'tool_result', call_id: asked.call_id, name: 'list', output: 'a.ts b.ts', failed: false }],
      },
    ]
    expect(textOf(await call({ model, tools: [tool], messages }))).toBe('two files')
    expect(JSON.stringify(models.mock.requests().at(-1)?.body)).toContain('a.ts b.ts')
  })

  it('tells a rate limit with the time to wait', async () => {
    models.mock.next({ error: { status: 429, message: 'too fast', retryAfter: 9 } })
    await expect(call({ model })).rejects.toMatchObject({
      code: 'model_error',
      fields: { reason: 'rate_limit', upstream_status: 429, retry_after_ms: 9000 },
    })
    expect(bought(models.mock)).toBe(1)
  })

  it('tells a failure of the provider as overloaded', async () => {
    models.mock.next({ error: { status: 500, message: 'oops' } })
    await expect(call({ model })).rejects.toMatchObject({
      code: 'model_error',
      fields: { reason: 'overloaded', upstream_status: 500 },
    })
    expect(bought(models.mock)).toBe(1)
  })

  it('tells a refused key, and shows no part of it', async () => {
    const message = `Incorrect API key provided: ${secrets.openai}`
    models.mock.next({ error: { status: 401, message } })
    const error = await call({ model }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'model_error', fields: { reason: 'auth', upstream_status: 401 } })
    expect(JSON.stringify([error, (error as Error).message])).not.toContain('0123456789abcdef')
  })

  it('fails loudly for a model that the provider does not know', async () => {
    models.mock.next({ error: { status: 404, message: 'The model `test` does not exist', code: 'model_not_found' } })
    await expect(call({ model })).rejects.toMatchObject({
      code: 'model_not_found',
      fields: { reason: 'model_not_found' },
    })
  })

  it('tells a stream that was cut as a broken connection', async () => {
    models.mock.always({ text: 'this answer breaks off in the middle of it', chunkSize: 4, cutAfterChunks: 3 })
    await expect(call({ model })).rejects.toMatchObject({ code: 'model_error', fields: { reason: 'connection' } })
    expect(bought(models.mock)).toBe(1)
  })

  it('gives up on a provider that does not begin', async () => {
    const release = models.mock.hold({ text: 'late' })
    await expect(call({ model })).rejects.toMatchObject({ code: 'model_error', fields: { reason: 'connection' } })
    release()
  })

  it('returns the value that satisfies a schema', async () => {
    models.mock.always({ text: '{"files": 3}' })
    const schema = { type: 'object', properties: { files: { type: 'integer' } }, required: ['files'] }
    expect(await call({ model, schema })).toMatchObject({ output: { files: 3 } })
    models.mock.reset()
    models.mock.always({ text: '{"files": "three"}' })
    await expect(call({ model, schema })).rejects.toMatchObject({
      code: 'model_error',
      fields: { reason: 'schema_mismatch', errors: [{ pointer: '/files' }] },
    })
  })
})

describe('the thoughts of a model', () => {
  const goOn = async (type: 'anthropic' | 'openai', model: string): Promise<string> => {
    const tap = await tapWire(models.mock.baseUrl(type))
    const providers = { [type]: { type, base_url: `${tap.url}/v1` } }
    await models.gateway.bus.call(contract['models.config.update'], as(), { providers, ladders: {} } as never)
    models.mock.conversation({}, [{ text: 'so be it', reasoning: 'let me think' }, { text: 'go on' }])
    const first = await call({ model })
    expect(first.content.map((part) => part.type)).toEqual(['reasoning', 'text'])
    await call({ model, messages: [user('hello'), { role: 'assistant', content: first.content }, user('and now?')] })
    await tap.stop()
    return tap.bodies.at(-1) as string
  }

  it('go back to anthropic with their signature', async () => {
    const sent = await goOn('anthropic', 'anthropic/claude-sonnet-4-6')
    expect(sent).toMatch(/"type":"thinking","thinking":"let me think","signature":".+"/)
  })

  it('go back to openai encrypted, whole, and without a reference to its store', async () => {
    const sent = await goOn('openai', 'openai/gpt-5.4')
    expect(sent).toContain('"store":false')
    expect(sent).toMatch(/"type":"reasoning".*"encrypted_content":".+"/)
    expect(sent).not.toContain('item_reference')
  })
})

describe('a provider that is not there', () => {
  it('is told as a connection failure: nobody listens', async () => {
    await expect(call({ model: 'nowhere/x' })).rejects.toMatchObject({
      fields: { provider: 'nowhere', reason: 'connection' },
    })
  })

  it('is told as a connection failure: its name is not resolved', async () => {
    await expect(call({ model: 'unnamed/x' })).rejects.toMatchObject({
      fields: { provider: 'unnamed', reason: 'connection' },
    })
  })
})

describe('a ladder', () => {
  const ladder = (rungs: string[]) =>
    models.gateway.bus.call(contract['models.config.update'], as(), { ladders: { medium: rungs } } as never)

  it('goes on to the next rung before the first word, and tells which ones failed', async () => {
    await ladder(['nowhere/x', 'openai/gpt-5.4', 'mock/test-model'])
    models.mock.always({ text: 'third time lucky' }).next({ error: { status: 503, message: 'busy' } })
    const answer = await call({ strength: 'medium' })
    expect(textOf(answer)).toBe('third time lucky')
    expect(answer.model).toBe('mock/test-model')
    expect(answer.attempts).toMatchObject([
      { model: 'nowhere/x', code: 'model_error' },
      { model: 'openai/gpt-5.4', code: 'model_error' },
    ])
  })

  it('stays with a rung that has begun to answer', async () => {
    await ladder(['openai/gpt-5.4', 'mock/test-model'])
    models.mock.always({ text: 'an answer that breaks off somewhere', chunkSize: 2, cutAfterChunks: 12, pace: 10 })
    await expect(collect(stream({ strength: 'medium' }))).rejects.toMatchObject({
      code: 'model_error',
      fields: { provider: 'openai', reason: 'connection' },
    })
    expect(bought(models.mock)).toBe(1)
  })

  it('tells the failure that passes soonest when every rung failed', async () => {
    await ladder(['openai/gpt-5.4', 'mock/test-model'])
    models.mock
      .next({ error: { status: 429, message: 'slow', retryAfter: 3 } })
      .next({ error: { status: 401, message: 'no key' } })
    await expect(call({ strength: 'medium' })).rejects.toMatchObject({
      fields: {
        reason: 'rate_limit',
        retry_after_ms: 3000,
        attempts: [{ model: 'openai/gpt-5.4' }, { model: 'mock/test-model' }],
      },
    })
  })

  it('falls back to the nearest strength that has one', async () => {
    models.mock.always({ text: 'medium did it' })
    expect((await call({ strength: 'ultra' })).model).toBe('mock/test-model')
  })

  it('does not repeat a request that no model would take', async () => {
    await ladder(['openai/gpt-5.4', 'mock/test-model'])
    models.mock.always({ text: 'unreached' }).next({ error: { status: 400, message: 'temperature is out of range' } })
    await expect(call({ strength: 'medium' })).rejects.toMatchObject({ fields: { reason: 'invalid_request' } })
    expect(bought(models.mock)).toBe(1)
  })
})

describe('POST /v1/llm', () => {
  it('ends the call at the provider when the caller leaves', async () => {
    const provider = await startPatientProvider()
    const providers = { patient: { type: 'openai-compatible', base_url: provider.baseUrl } }
    await models.gateway.bus.call(contract['models.config.update'], as(), { providers, ladders: {} } as never)
    const leaving = new AbortController()
    const reading = stream({ model: 'patient/m' }, leaving.signal)[Symbol.asyncIterator]()
    expect((await reading.next()).value).toEqual({ type: 'text', text: 'well' })
    leaving.abort()
    await expect(reading.next()).rejects.toMatchObject({ code: 'client_closed' })
    await provider.left()
    await provider.stop()
  })

  it('refuses a model and a strength at once, and a provider that is not configured', async () => {
    await expect(call({ model: 'mock/x', strength: 'light' })).rejects.toMatchObject({ code: 'validation_failed' })
    await expect(call({ model: 'no-slash' })).rejects.toMatchObject({
      code: 'validation_failed',
      fields: { errors: [{ pointer: '/model' }] },
    })
    const missing = await call({ model: 'mistral/large' }).catch((error: unknown) => error)
    expect(missing).toMatchObject({ code: 'model_not_configured', fields: { provider: 'mistral' } })
    expect(JSON.stringify(missing)).toContain('svc model add mistral --base-url')
  })

  // Schemas were applied on the service's own thread: one pattern of an agent could hold up the whole daemon for ever.
  it('refuses an answer that takes for ever to check, and serves others meanwhile', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }
    models.mock.next({ text: JSON.stringify({ a: `${'a'.repeat(60)}!` }) })
    const hostile = call({ schema })
    hostile.catch(() => undefined)
    await waitFor(() => bought(models.mock) === 1)
    models.mock.always({ text: 'served' })
    expect(textOf(await call({}))).toBe('served')
    await expect(hostile).rejects.toMatchObject({ code: 'model_error', fields: { reason: 'schema_mismatch' } })
  })

  it('refuses a schema that is none', async () => {
    await expect(call({ schema: { type: 'nonsense' } })).rejects.toMatchObject({
      code: 'validation_failed',
      fields: { errors: [{ pointer: '/schema' }] },
    })
    expect(bought(models.mock)).toBe(0)
  })

  it('keeps to the daily limit', async () => {
    models.mock.always({ text: 'dear', usage: { input: 10, output: 10 } })
    const prices = { 'mock/test-model': { input_per_million: 1_000_000, output_per_million: 0 } }
    const update = (limits: object) =>
      models.gateway.bus.call(contract['models.config.update'], as(), { prices, limits } as never)
    await update({ cost_usd_per_day: 15 })
    expect((await call({})).usage.cost_usd).toBe(10)
    await call({})
    await expect(call({})).rejects.toMatchObject({ code: 'budget_exhausted', fields: { limit_usd: 15 } })
  })

  it('never writes a key to its log', async () => {
    models.mock.always({ text: 'fine' }).next({ error: { status: 401, message: `bad key ${secrets.openai}` } })
    await call({ model: 'openai/gpt-5.4' }).catch(() => undefined)
    for (const secret of Object.values(secrets)) expect(models.logged()).not.toContain(secret)
  })
})

describe('the circuit of a provider', () => {
  it('opens after failures in a row, and the next rung serves without waiting for it', async () => {
    const rungs = ['nowhere/x', 'mock/test-model']
    await models.gateway.bus.call(contract['models.config.update'], as(), { ladders: { medium: rungs } } as never)
    models.mock.always({ text: 'served' })
    for (let count = 0; count < 6; count += 1) await call({})
    expect((await call({})).attempts).toMatchObject([
      { model: 'nowhere/x', message: expect.stringContaining('left alone') },
    ])
  })
})
