import { describe, expect, it } from '@jest/globals'
import { moment } from './common.schema.js'

describe('a moment', () => {
  it.each([
    ['2026-12-01T09:00:00Z', '2026-12-01T09:00:00.000Z'],
    ['2026-12-01T09:00:00.5Z', '2026-12-01T09:00:00.500Z'],
    ['2026-12-01T09:00:00.123456789Z', '2026-12-01T09:00:00.123Z'],
    ['2026-12-01T10:00:00+01:00', '2026-12-01T09:00:00.000Z'],
    ['2026-12-01T09:00:00.000Z', '2026-12-01T09:00:00.000Z'],
  ])('that is written %s is kept as %s', (written, kept) => {
    expect(moment.parse(written)).toBe(kept)
    expect(moment.parse(kept)).toBe(kept)
  })

  it.each(['2026-12-01', '2026-12-01T09:00', 'tomorrow', '2026-02-30T09:00:00Z', '', '2026-12-01T09:00:60Z'])(
    'is not what is written "%s"',
    (written) => expect(moment.safeParse(written).success).toBe(false),
  )
})
