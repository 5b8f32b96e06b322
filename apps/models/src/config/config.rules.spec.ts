import { describe, expect, it } from '@jest/globals'
import { modelConfigDocument, modelConfigUpdate } from '#common/contract/index.js'
import { changeConfig, splitRung } from './config.rules.js'

const before = modelConfigDocument.parse({
  providers: { local: { type: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1' } },
  ladders: { medium: ['local/x'] },
})
const change = (body: unknown) => {
  const { if_version: _version, ...given } = modelConfigUpdate.parse(body)
  return changeConfig(before, given as Parameters<typeof changeConfig>[1])
}
const pointersOf = (body: unknown): string[] => {
  try {
    change(body)
  } catch (error) {
    return (error as { fields: { errors: { pointer: string }[] } }).fields.errors.map(({ pointer }) => pointer)
  }
  return []
}

describe('a change of the config', () => {
  // The defaults of the whole document once filled in what a change had left out, and emptied the rest of the config.
  it('leaves alone what it does not name', () => {
    expect(modelConfigUpdate.parse({ if_version: 3 })).toEqual({ if_version: 3 })
    expect(change({ limits: { concurrent_calls: 4 } })).toEqual({ ...before, limits: { concurrent_calls: 4 } })
  })

  it('replaces a field whole', () => {
    expect(change({ ladders: { light: ['local/y'] } }).ladders).toEqual({ light: ['local/y'] })
  })

  it('is refused when a ladder names a provider that is gone with it', () => {
    expect(pointersOf({ providers: {} })).toEqual(['/ladders/medium/0'])
  })

  it('is refused for prices that name no model, and pointers are escaped', () => {
    expect(pointersOf({ prices: { 'a~b': { input_per_million: 1, output_per_million: 1 } } })).toEqual(['/prices/a~0b'])
  })

  it.each(['http://u:p@host/v1', 'http://host/v1?key=1', 'http://host/v1#x', 'http://host/sk-abcdefghijklmnopqrst/v1'])(
    'is refused with what may be a secret in an address: %s',
    (base_url) => {
      expect(pointersOf({ providers: { local: { type: 'openai-compatible', base_url } } })).toEqual([
        '/providers/local/base_url',
      ])
    },
  )
})

describe('a rung', () => {
  it('ends its provider at the first slash, since models have slashes in their names', () => {
    expect(splitRung('local/meta/llama-4')).toEqual({ provider: 'local', model: 'meta/llama-4' })
  })
})
