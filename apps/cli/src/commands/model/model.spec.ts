import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { empty, json } from '../../../../../test/support/wire-server.js'

describe('svc model', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
  })
  afterAll(() => svc.stop())

  describe('model add', () => {
    const config = {
      version: 3,
      providers: { lab: { type: 'openai-compatible', base_url: 'http://lab/v1' } },
      ladders: { strong: ['lab/m'] },
      prices: {},
      limits: {},
    }
    const readiness = { ready: true, providers: [], strengths: [], remedy: null }

    it('installs a key from standard input and puts the models behind what is on the ladders', async () => {
      wire.says(json(config), json(config), json({}), json(readiness))
      const { code, out, err } = await svc.run(['model', 'add', 'openai', '--model', 'x'], { input: 'sk-secret\n' })
      expect(code).toBe(0)
      expect(out + err).not.toContain('sk-secret')
      expect(wire.received[1]).toMatchObject({
        method: 'PUT',
        path: '/v1/model-config',
        body: {
          if_version: 3,
          providers: { ...config.providers, openai: { type: 'openai' } },
          ladders: { light: ['openai/x'], strong: ['lab/m', 'openai/x'] },
        },
      })
      expect(wire.received[2]).toMatchObject({
        method: 'PUT',
        path: '/v1/model-auth/openai',
        body: { kind: 'api_key', api_key: 'sk-secret' },
      })
    })

    it('needs no key for a local provider, whose address is its own --base-url', async () => {
      wire.says(json({ ...config, providers: {}, ladders: {} }), json(config), json(readiness))
      await svc.run([
        '--base-url',
        wire.url,
        'model',
        'add',
        'ollama',
        '--base-url',
        'http://127.0.0.1:1/v1',
        '--model',
        'q',
      ])
      expect(wire.received[1]?.body).toMatchObject({
        providers: { ollama: { type: 'openai-compatible', base_url: 'http://127.0.0.1:1/v1' } },
      })
      expect(wire.received.map(({ path }) => path)).toEqual([
        '/v1/model-config',
        '/v1/model-config',
        '/v1/model-auth/readiness',
      ])
    })

    it('removes key, configuration and rungs', async () => {
      wire.says(empty(), json(config), json(config))
      expect((await svc.run(['model', 'remove', 'lab'])).code).toBe(0)
      expect(wire.received[2]?.body).toEqual({ if_version: 3, providers: {}, ladders: { strong: [] } })
    })
  })
})
