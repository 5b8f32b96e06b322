import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { contract, type LlmAnswer } from '#common/contract/index.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  answered,
  as,
  bought,
  type ModelsUnderTest,
  startModels,
  textOf,
  useMock,
  user,
} from '../../../../test/support/models-service.js'
import { startPatientProvider } from '../../../../test/support/patient-provider.js'
import { AnswerSweep } from '../turn/answer.sweep.js'

const llm = contract['llm.call']
const app = { kind: 'app', principal: 'app:one' } as const

let models: ModelsUnderTest
beforeAll(async () => {
  models = await startModels()
})
afterAll(() => models.stop())
beforeEach(async () => {
  models.mock.reset()
  models.mock.always({ text: 'bought', usage: { input: 3, output: 2 } })
  await models.database.query('DELETE FROM models.spend')
  await useMock(models)
})

interface Asking {
  text?: string
  actor?: Parameters<typeof as>[0]
  signal?: AbortSignal
}
const request = (text = 'hello') => ({ messages: [user(text)], tools: [], tool_choice: 'auto' }) as never
const contextOf = (key: string, { actor, signal }: Asking) => ({
  ...as(actor, signal),
  idempotencyKey: key,
  notes: {} as { replayed?: true },
})

const call = async (key: string, asking: Asking = {}): Promise<LlmAnswer & { replayed: boolean }> => {
  const ctx = contextOf(key, asking)
  const answer = await models.gateway.bus.call(llm, ctx, request(asking.text))
  return { ...answer, replayed: ctx.notes.replayed === true }
}
const stream = (key: string, asking: Asking = {}) =>
  models.gateway.bus.stream(llm, contextOf(key, asking), request(asking.text))
const codeOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'answered',
    (error) => error.code,
  )

describe('a model call under an idempotency key', () => {
  it('is bought once and read back, as JSON and as a stream', async () => {
    const first = await call('once')
    expect(first).toMatchObject({ replayed: false, usage: { input_tokens: 3 } })
    expect(await call('once')).toEqual({ ...first, replayed: true })
    const { replayed: _, ...answer } = first
    expect(await answered(stream('once'))).toMatchObject({ answer, replayed: true, streamed: '' })
    expect(bought(models.mock)).toBe(1)
    expect(await models.database.query('SELECT calls::int AS calls FROM models.spend')).toEqual([{ calls: 1 }])
  })

  it('is read back after it was streamed', async () => {
    expect(await answered(stream('streamed'))).toMatchObject({ replayed: false, streamed: 'bought' })
    const again = await call('streamed')
    expect([textOf(again), again.replayed, bought(models.mock)]).toEqual(['bought', true, 1])
  })

  it('refuses another request, and is another one for another principal', async () => {
    await call('taken')
    expect(await codeOf(call('taken', { text: 'something else' }))).toBe('idempotency_key_reused')
    expect((await call('taken', { actor: app, text: 'something else' })).replayed).toBe(false)
    expect(bought(models.mock)).toBe(2)
  })

  it('is sent once for twins at a time, in whatever replica they are', async () => {
    const other = await models.replica()
    const twins = await Promise.all(Array.from({ length: 6 }, () => call('twins')))
    expect(twins.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(new Set(twins.map(textOf))).toEqual(new Set(['bought']))
    expect(bought(models.mock)).toBe(1)
    await other.service.close()
  })

  it('that failed and said so may be tried again', async () => {
    models.mock.next({ error: { status: 400, message: 'no' } })
    expect(await codeOf(call('failed'))).toBe('model_error')
    expect(await call('failed')).toMatchObject({ replayed: false })
  })

  it('is kept for a day', async () => {
    await call('old')
    await models.database.query("UPDATE models.idempotency SET expires_at = now() WHERE key = 'old'")
    await models.service.app.get(AnswerSweep, { strict: false }).round()
    expect(await models.database.query("SELECT 1 FROM models.idempotency WHERE key = 'old'")).toEqual([])
    expect(await call('old', { text: 'another day' })).toMatchObject({ replayed: false })
  })
})

describe('a keyed model call that was cut off', () => {
  const patiently = async () => {
    const provider = await startPatientProvider()
    await useMock(models, { providers: { mock: { type: 'openai-compatible', base_url: provider.baseUrl } } })
    return provider
  }

  it('is in progress for its twin, and unknown once its caller has left', async () => {
    const provider = await patiently()
    const leaving = new AbortController()
    const left = codeOf(call('left', { signal: leaving.signal }))
    await provider.begun()
    expect(await codeOf(call('left'))).toBe('idempotency_in_progress')
    leaving.abort()
    expect(await left).toBe('client_closed')
    await waitFor(async () => (await codeOf(call('left'))) === 'outcome_unknown')
    expect(await codeOf(call('left', { text: 'something else' }))).toBe('idempotency_key_reused')
    await provider.stop()
  })

  it('is unknown once the process that sent it is gone', async () => {
    await call('gone')
    await models.database.query(
      "UPDATE models.idempotency SET response = NULL, holder = 'models-00000000deadbeef' WHERE key = 'gone'",
    )
    await waitFor(async () => (await codeOf(call('gone'))) === 'outcome_unknown')
    expect(await codeOf(call('gone'))).toBe('outcome_unknown')
    expect(bought(models.mock)).toBe(1)
  })
})
