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

  // Armed with one of the year 10000, a schedule could be listed by nobody any more: no row with it can be read back.
  it.each([
    '9999-12-31T23:59:59-01:00',
    '9999-01-01T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '0001-01-01T00:00:00+14:00',
    '0000-06-01T00:00:00Z',
  ])('is not %s, which is not kept', (written) => expect(moment.safeParse(written).success).toBe(false))

  it.each(['1970-01-01T00:00:00Z', '9998-12-31T23:59:59.999Z'])('may be %s', (written) =>
    expect(moment.safeParse(written).success).toBe(true),
  )
})
