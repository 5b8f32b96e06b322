import pg from 'pg'

const OID = { int8: 20, numeric: 1700, timestamptz: 1184, timestamptzArray: 1185 } as const

const form = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,3}))?\d*\+00$/

/** Text of a timestamptz in a session whose time zone is UTC. `infinity` and years beyond 9999 become an invalid Date. */
export const parseTimestamp = (text: string): Date => {
  const match = form.exec(text)
  if (!match) return new Date(Number.NaN)
  const [, year, month, day, hour, minute, second, fraction = ''] = match
  const ms = fraction === '' ? 0 : Number(fraction.padEnd(3, '0'))
  return new Date(
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second), ms),
  )
}

const parseTimestamps = (text: string): Date[] =>
  text === '{}'
    ? []
    : text
        .slice(1, -1)
        .split(',')
        .map((item) => parseTimestamp(item.replaceAll('"', '')))

/** Counters and money as numbers (both stay far below 2^53), times as dates. */
const parsers: Record<number, (text: string) => unknown> = {
  [OID.int8]: Number,
  [OID.numeric]: Number,
  [OID.timestamptz]: parseTimestamp,
  [OID.timestamptzArray]: parseTimestamps,
}

export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    parsers[oid] ?? pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
}

/** A JSON column's value. Needed, since the driver takes an array for a Postgres array and a string for JSON text. */
export const json = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value)
