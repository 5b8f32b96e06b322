import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type ConversationMessage, contract, type LlmAnswer } from '#common/contract/index.js'
import type { MockProvider } from '#common/testing/mock-model.js'
import { as, type ModelsUnderTest, startModels, textOf, user } from '../../../../test/support/models-service.js'
import { tapWire, type WireTap } from '../../../../test/support/wire-tap.js'

let models: ModelsUnderTest
let tap: WireTap
beforeAll(async () => {
  models = await startModels()
  tap = await tapWire(models.mock.baseUrl('openai'))
})
afterAll(async () => {
  await tap.stop()
  await models.stop()
})
beforeEach(() => models.mock.reset())

const use = async (type: MockProvider): Promise<void> => {
  const base_url = `${tap.url}/${type === 'google' ? 'v1beta' : 'v1'}`
  const { call } = models.gateway.bus
  const update = { providers: { used: { type, base_url } }, ladders: {} }
  await call.call(models.gateway.bus, contract['models.config.update'], as(), update as never)
  const key = { provider: 'used', kind: 'api_key', api_key: 'sk-test-0123456789abcdef' }
  await call.call(models.gateway.bus, contract['models.credentials.install'], as(), key as never)
}

const base64 = Buffer.from('not quite a picture').toString('base64')
/** A model that called a tool, which answered an image. */
const looked: ConversationMessage[] = [
  user('what is in a.png?'),
  { role: 'assistant', content: [{ type: 'tool_call', call_id: 'call_1', name: 'read', input: { path: 'a.png' } }] },
  {
    role: 'tool',
    content: [
      {
        type: 'tool_result',
        call_id: 'call_1',
        name: 'read',
        output: 'a.png (image/png)',
        failed: false,
        images: [{ content_type: 'image/png', base64 }],
      },
    ],
  },
]
const ask = (model: string): Promise<LlmAnswer> =>
  models.gateway.bus.call(contract['llm.call'], as(), {
    model: `used/${model}`,
    messages: looked,
    tools: [{ name: 'read', description: 'Reads', input_schema: { type: 'object', properties: {} } }],
    tool_choice: 'auto',
  } as never) as Promise<LlmAnswer>
const sent = (): string => tap.bodies.at(-1) as string

describe('an image that a tool answered', () => {
  it.each([
    ['openai', 'gpt-5.4', /"type":"function_call_output","call_id":"call_1","output":\[.*"type":"input_image"/],
    ['anthropic', 'claude-sonnet-4-6', /"type":"tool_result","tool_use_id":"call_1","content":\[.*"type":"image"/],
    ['google', 'gemini-3-pro', /"functionResponse":\{.*"name":"read".*"inlineData"/],
    ['google', 'gemini-2.5-flash', /"inlineData"/],
    ['openai-compatible', 'llava', /"role":"tool","tool_call_id":"call_1",.*"role":"user","content":\[.*"image_url"/],
  ] as const)('reaches a model of %s (%s), with the text beside it', async (type, model, form) => {
    await use(type)
    models.mock.always({ text: 'a cat' })
    expect(textOf(await ask(model))).toBe('a cat')
    expect(sent()).toContain(base64)
    expect(sent()).toContain('a.png (image/png)')
    expect(sent()).toMatch(form)
  })

  // One picture that a text model had read stood in its conversation from then on, and every later step was refused.
  it('is left out, and said to be, for a model that refuses images', async () => {
    await use('openai-compatible')
    const refusal = { status: 400, message: 'This model does not support image input' }
    models.mock.always({ text: 'I see nothing' }).next({ error: refusal })
    expect(textOf(await ask('text-only'))).toBe('I see nothing')
    expect(tap.bodies.at(-2)).toContain(base64)
    expect(sent()).not.toContain(base64)
    expect(sent()).toContain("this model refused: you can't see it")
  })

  it('is sent once when a request fails for another reason', async () => {
    await use('openai-compatible')
    const before = tap.bodies.length
    models.mock.next({ error: { status: 400, message: 'temperature is out of range' } })
    await expect(ask('text-only')).rejects.toMatchObject({ fields: { reason: 'invalid_request' } })
    expect(tap.bodies.length - before).toBe(1)
  })
})
