import { describe, expect, it } from '@jest/globals'
import { UsageError } from '../failure.js'
import { durationText, secondsOf } from './duration.js'

describe('a length of time', () => {
  it.each([
    ['900', 900],
    ['0', 0],
    ['90s', 90],
    ['15m', 900],
    ['1h30m', 5400],
    ['2d', 172_800],
    ['1d2h3m4s', 93_784],
  ])('%s is %i seconds', (text, seconds) => {
    expect(secondsOf(text)).toBe(seconds)
  })

  it.each(['', 'm', '15 m', '-5m', '1.5h', '5m1h', '15min', 'soon', '1w', 'P1D', '12345678901'])(
    '%j is none, and the error says how it is said',
    (text) => {
      expect(() => secondsOf(text)).toThrow(expect.objectContaining({ remedy: expect.stringContaining('1h30m') }))
      expect(() => secondsOf(text)).toThrow(UsageError)
    },
  )

  it('is said in the way in which it is read', () => {
    for (let seconds = 0; seconds < 400_000; seconds += 997) expect(secondsOf(durationText(seconds))).toBe(seconds)
  })
})
