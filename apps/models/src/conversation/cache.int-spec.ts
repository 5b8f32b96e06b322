import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type LlmAnswer } from '#common/contract/index.js'
import type { MockProvider } from '#common/testing/mock-model.js'
import { as, type ModelsUnderTest, startModels, user } from '../../../../test/support/models-service.js'
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

const use = async (type: MockProvider, context_windows = {}): Promise<void> => {
  const { bus } = models.gateway
  const update = { providers: { used: { type, base_url: `${tap.url}/v1` } }, ladders: {}, context_windows }
  await bus.call(contract['models.config.update'], as(), update as never)
  const key = { provider: 'used', kind: 'api_key', api_key: 'sk-test-0123456789abcdef' }
  await bus.call(contract['models.credentials.install'], as(), key as never)
  models.mock.always({ text: 'yes' })
}

const ask = (model: string, said: readonly string[]): Promise<LlmAnswer> =>
  models.gateway.bus.call(contract['llm.call'], as(), {
    model: `used/${model}`,
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'You are brief.' }] },
      ...said.map((one) => user(one)),
    ],
    tools: [{ name: 'read', description: 'Reads', input_schema: { type: 'object', properties: {} } }],
    tool_choice: 'auto',
  } as never) as Promise<LlmAnswer>
const sent = (at: number): string => tap.bodies.at(at) as string

describe('what a provider is sent', () => {
  it('is marked for its cache where it wants that: the instructions, and the conversation so far', async () => {
    await use('anthropic')
    await ask('claude-sonnet-4-6', ['go', 'and now'])
    const { system, messages } = JSON.parse(sent(-1)) as { system: object[]; messages: { content: object[] }[] }
    const mark = { cache_control: { type: 'ephemeral' } }
    expect(system.at(-1)).toMatchObject(mark)
    expect(messages.at(-1)?.content.at(-1)).toMatchObject(mark)
    expect(sent(-1).split('cache_control')).toHaveLength(3)
  })

  it('begins alike from step to step, so that others keep it by themselves', async () => {
    await use('openai-compatible')
    await ask('some', ['go'])
    await ask('some', ['go', 'and now'])
    const [one, two] = [sent(-2), sent(-1)].map((body) =>
      JSON.stringify((JSON.parse(body) as { messages: [] }).messages),
    )
    expect(two?.startsWith(one?.slice(0, -1) as string)).toBe(true)
  })
})

describe('an answer', () => {
  it('tells what the model that answered takes', async () => {
    await use('openai-compatible', { 'used/small': 8192 })
    expect(await ask('small', ['go'])).toMatchObject({ context_window: 8192 })
    expect(await ask('other', ['go'])).toMatchObject({ context_window: 65_536 })
  })
})
