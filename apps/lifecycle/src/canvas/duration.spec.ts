import { describe, expect, it } from '@jest/globals'
import { pruneBody } from '#common/contract/canvas.schema.js'
import { secondsOf } from './duration.js'

describe('secondsOf', () => {
  it.each([
    [90, 90],
    ['P14D', 1_209_600],
    ['P2W', 1_209_600],
    ['PT36H', 129_600],
    ['P1DT2H3M4S', 93_784],
  ])('reads %p', (text, seconds) => {
    expect(secondsOf(pruneBody.parse({ older_than: text }).older_than)).toBe(seconds)
  })

  it.each(['P', 'PT', '14D', 'P1Y', 'P1M', 'P-1D', '14', -1, 1.5])('is never asked for %p', (text) => {
    expect(pruneBody.safeParse({ older_than: text }).success).toBe(false)
  })
})
