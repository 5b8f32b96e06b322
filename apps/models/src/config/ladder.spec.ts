import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { modelConfigDocument, strengths } from '#common/contract/index.js'
import { defaultLadders, defaultPrices } from './config.defaults.js'
import { ladderFor } from './ladder.js'
import { costOf } from './price.js'

const document = (ladders: object) => modelConfigDocument.parse({ ladders })
const nobody = () => false

describe('the ladder of a strength', () => {
  it('is the configured one', () => {
    expect(ladderFor('light', document({ light: ['a/x', 'b/y'] }), nobody)).toEqual({
      rungs: ['a/x', 'b/y'],
      strength: 'light',
    })
  })

  it('falls back to the nearest, of two equally near to the stronger', () => {
    const config = document({ light: ['a/light'], strong: ['a/strong'] })
    expect(ladderFor('medium', config, nobody).strength).toBe('strong')
    expect(ladderFor('ultra', config, nobody).strength).toBe('strong')
  })

  it('is a built-in one only while the owner has configured none, and only with a credential', () => {
    const onlyOpenai = (provider: string) => provider === 'openai'
    expect(ladderFor('medium', document({}), onlyOpenai).rungs).toEqual(['openai/gpt-5.4'])
    expect(ladderFor('medium', document({}), nobody)).toEqual({ rungs: [], strength: null })
    expect(ladderFor('medium', document({ light: ['a/x'] }), onlyOpenai).rungs).toEqual(['a/x'])
  })

  it('is never empty when any strength has one', () => {
    const subsets = fc.subarray([...strengths], { minLength: 1 })
    fc.assert(
      fc.property(subsets, fc.constantFrom(...strengths), (configured, wanted) => {
        const config = document(Object.fromEntries(configured.map((one) => [one, [`p/${one}`]])))
        const { rungs, strength } = ladderFor(wanted, config, nobody)
        expect(rungs).toEqual([`p/${strength}`])
        if (configured.includes(wanted)) expect(strength).toBe(wanted)
      }),
    )
  })
})

describe('the cost of a call', () => {
  const prices = { 'p/m': { input_per_million: 2, output_per_million: 10, cached_input_per_million: 0.5 } }
  const counts = { input_tokens: 1_000_000, output_tokens: 100_000, cached_tokens: 400_000 }

  it('counts cached input by its own price', () => {
    expect(costOf('p/m', counts, prices)).toBe(0.6 * 2 + 0.4 * 0.5 + 1)
  })

  it("takes the owner's price before the built-in one, and 0 for a model without any", () => {
    const [rung] = Object.keys(defaultPrices) as [string]
    expect(costOf(rung, counts, { [rung]: { input_per_million: 1, output_per_million: 0 } })).toBe(1)
    expect(costOf('nobody/knows', counts, prices)).toBe(0)
  })

  it('is known for every built-in rung', () => {
    for (const rung of Object.values(defaultLadders).flat()) expect(defaultPrices[rung]).toBeDefined()
  })
})
