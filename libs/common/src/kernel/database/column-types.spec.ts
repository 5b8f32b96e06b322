import { describe, expect, it } from '@jest/globals'
import { columnTypes, json, parseTimestamp } from './column-types.js'

describe('column types', () => {
  it.each([
    ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02 03:04:05.6+00', '2026-01-02T03:04:05.600Z'],
    ['2026-12-31 23:59:59.078+00', '2026-12-31T23:59:59.078Z'],
  ])('reads the time %s', (text, iso) => {
    expect(parseTimestamp(text).toISOString()).toBe(iso)
  })

  it('reads no time out of infinity', () => {
    expect(parseTimestamp('-infinity').getTime()).toBeNaN()
  })

  it('reads counters and money as numbers, and lists of times as dates', () => {
    const parse = (oid: number, text: string): unknown =>
      (columnTypes.getTypeParser(oid) as (text: string) => unknown)(text)
    expect([parse(20, '42'), parse(1700, '0.0000000001')]).toEqual([42, 1e-10])
    expect(parse(1185, '{"2026-01-02 03:04:05+00"}')).toEqual([new Date('2026-01-02T03:04:05Z')])
  })

  it('writes JSON as text, and nothing as null', () => {
    expect([json(['a']), json('a'), json(0), json(null), json(undefined)]).toEqual(['["a"]', '"a"', '0', null, null])
  })
})
