import { randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type LlmAnswer, type OutputOf } from '#common/contract/index.js'
import { systemContext } from '#common/kernel/context.js'
import { as, type ModelsUnderTest, startModels, textOf, user } from '../../../../test/support/models-service.js'
import { credentialKey } from '../credential/credential.cipher.js'
import { CredentialService } from '../credential/credential.service.js'

type Readiness = OutputOf<(typeof contract)['models.readiness']>
const apiKey = 'sk-test-0123456789-abcdefgh'

let models: ModelsUnderTest
beforeAll(async () => {
  models = await startModels()
})
afterAll(() => models.stop())

const readiness = (): Promise<Readiness> => models.gateway.bus.call(contract['models.readiness'], as(), {} as never)
const install = (provider: string, api_key = apiKey) =>
  models.gateway.bus.call(contract['models.credentials.install'], as(), {
    provider,
    kind: 'api_key',
    api_key,
    label: 'mine',
  })
const update = (change: object) => models.gateway.bus.call(contract['models.config.update'], as(), change as never)
const provider = ({ providers }: Readiness, name: string) => providers.find((one) => one.provider === name)
const strength = ({ strengths }: Readiness, name: string) => strengths.find((one) => one.strength === name)
const say = (model: string) =>
  models.gateway.bus.call(contract['llm.call'], as(), {
    messages: [user('hi')],
    tools: [],
    tool_choice: 'auto',
    model,
  } as never) as Promise<LlmAnswer>

describe('the models of a fresh daemon', () => {
  it('are not ready, and the remedy names the commands', async () => {
    const state = await readiness()
    expect(state.ready).toBe(false)
    expect(state.providers.map((one) => one.provider)).toEqual(['anthropic', 'openai', 'google'])
    expect(provider(state, 'openai')).toMatchObject({
      configured: false,
      usable: false,
      reason: 'no credential is installed',
    })
    expect(strength(state, 'medium')).toEqual({ strength: 'medium', model: null, reason: 'no model is configured' })
    expect(state.remedy).toContain('svc model add openai --key-file')
    expect(state.remedy).toContain('svc model add ollama --base-url http://127.0.0.1:11434/v1 --model')
  })

  it('answer no call, with the same remedy', async () => {
    const error = await models.gateway.bus
      .call(contract['llm.call'], as(), { messages: [user('hi')], tools: [], tool_choice: 'auto' } as never)
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'model_not_configured',
      fields: { strength: 'medium', remedy: (await readiness()).remedy },
    })
  })
})

describe('a credential', () => {
  it('is refused for a provider that nobody has configured', async () => {
    const error = await install('mistral').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'not_found' })
    expect(JSON.stringify(error)).toContain('svc model add mistral --base-url')
  })

  it('is shown by its last four characters, and stored where only the key file opens it', async () => {
    const shown = await install('openai')
    expect(shown).toMatchObject({
      provider: 'openai',
      kind: 'api_key',
      label: 'mine',
      last_four: 'efgh',
      health: { state: 'unknown' },
    })
    const list = await models.gateway.bus.call(contract['models.credentials.list'], as(), {} as never)
    expect(list).toMatchObject({ data: [{ provider: 'openai' }], next_cursor: null, has_more: false })
    expect(JSON.stringify([shown, list])).not.toContain(apiKey)
    const [row] = await models.database.query<{ ciphertext: Buffer }>('SELECT * FROM models.credentials')
    expect(row?.ciphertext.toString('latin1')).not.toContain(apiKey)
    expect(JSON.stringify(row)).not.toContain(apiKey)
    expect((await stat(models.url.keyFile)).mode & 0o777).toBe(0o600)
  })

  it('brings the default ladder of its provider into use', async () => {
    await update({ providers: { openai: { type: 'openai', base_url: models.mock.baseUrl('openai') } } })
    const state = await readiness()
    expect(state).toMatchObject({ ready: true, remedy: null })
    expect(strength(state, 'strong')).toEqual({ strength: 'strong', model: 'openai/gpt-5.5', reason: null })
  })

  it('is replaced without a restart', async () => {
    models.mock.always({ text: 'ok' })
    await install('openai', 'sk-second-key-0123456789')
    expect(textOf(await say('openai/gpt-5.4'))).toBe('ok')
    expect(await models.gateway.bus.call(contract['models.credentials.list'], as(), {} as never)).toMatchObject({
      data: [{ last_four: '6789', health: { state: 'usable' } }],
    })
  })

  it('shows what the last call said of it', async () => {
    models.mock.next({ error: { status: 401, message: 'Incorrect API key provided: sk-second-key-0123456789' } })
    await expect(say('openai/gpt-5.4')).rejects.toMatchObject({ fields: { reason: 'auth' } })
    const list = await models.gateway.bus.call(contract['models.credentials.list'], as(), {} as never)
    expect(list).toMatchObject({ data: [{ health: { state: 'failing' } }] })
    expect(JSON.stringify(list)).not.toContain('sk-second-key')
    expect(provider(await readiness(), 'openai')).toMatchObject({ configured: true, usable: false })
  })

  it('stays readable over a change of the key that encrypts it', async () => {
    const service = models.service.app.get(CredentialService, { strict: false })
    const before = await models.database.query<{ key_id: string }>('SELECT key_id FROM models.credentials')
    const key = credentialKey(randomBytes(32))
    expect(await service.rotate(systemContext('models'), key)).toBe(1)
    const after = await models.database.query<{ key_id: string }>('SELECT key_id FROM models.credentials')
    expect(after).toEqual([{ key_id: key.id }])
    expect(before).not.toEqual(after)
    expect((await readFile(models.url.keyFile, 'utf8')).trim()).toBe(key.bytes.toString('base64'))
    expect(textOf(await say('openai/gpt-5.4'))).toBe('ok')
  })

  it('is removed once', async () => {
    const remove = () => models.gateway.bus.call(contract['models.credentials.remove'], as(), { provider: 'openai' })
    await remove()
    await expect(remove()).rejects.toMatchObject({ code: 'not_found' })
    await expect(say('openai/gpt-5.4')).rejects.toMatchObject({ code: 'model_not_configured' })
  })
})

describe('the config', () => {
  it('keeps absent fields, counts its versions, and refuses a change made on an older one', async () => {
    const local = { type: 'openai-compatible', base_url: models.mock.baseUrl('openai-compatible') }
    const first = await update({ providers: { local }, ladders: { light: ['local/tiny'] } })
    const second = await update({ prices: { 'local/tiny': { input_per_million: 0, output_per_million: 0 } } })
    expect(second).toMatchObject({
      providers: { local },
      ladders: { light: ['local/tiny'] },
      version: first.version + 1,
    })
    await expect(update({ ladders: {}, if_version: first.version })).rejects.toMatchObject({
      code: 'precondition_failed',
      fields: { version: second.version },
    })
    expect(await models.gateway.bus.call(contract['models.config.retrieve'], as(), {} as never)).toEqual(second)
  })

  it('serves every strength by the one ladder that there is, without a credential', async () => {
    const state = await readiness()
    expect(state.strengths.map((one) => one.model)).toEqual(Array(4).fill('local/tiny'))
    expect(provider(state, 'local')).toMatchObject({ configured: true, usable: true })
  })

  it('points at every fault of a change, and changes nothing then', async () => {
    const change = {
      providers: {
        a: { type: 'openai-compatible', base_url: 'http://user:secret@host/v1' },
        b: { type: 'openai-compatible' },
        c: { type: 'openai', base_url: 'https://host/v1?api_key=1' },
        openai: { type: 'google' },
      },
      ladders: { light: ['local/tiny'] },
    }
    const error = await update(change).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'validation_failed',
      fields: {
        errors: expect.arrayContaining([
          expect.objectContaining({ pointer: '/providers/a/base_url' }),
          expect.objectContaining({ pointer: '/providers/b/base_url' }),
          expect.objectContaining({ pointer: '/providers/c/base_url' }),
          expect.objectContaining({ pointer: '/providers/openai/type' }),
          expect.objectContaining({ pointer: '/ladders/light/0' }),
        ]),
      },
    })
    expect(JSON.stringify(error)).not.toContain('secret')
    expect((await readiness()).ready).toBe(true)
  })

  it('finds out by a probe that a provider is not there, and says so without spending anything', async () => {
    await update({
      providers: { gone: { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
      ladders: { medium: ['gone/x'] },
    })
    const state = await readiness()
    expect(provider(state, 'gone')).toMatchObject({
      configured: true,
      usable: false,
      reason: expect.stringContaining('connection'),
    })
  })
})
