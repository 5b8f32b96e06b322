/** What a cron expression says, its names and aliases resolved. */
export interface Expression {
  /** The five fields in numbers. */
  readonly fields: string
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
}

interface Field {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly names: readonly string[]
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const minute: Field = { name: 'minute', least: 0, most: 59, names: [] }
const hour: Field = { name: 'hour', least: 0, most: 23, names: [] }
const dayOfMonth: Field = { name: 'day of month', least: 1, most: 31, names: [] }
const month: Field = { name: 'month', least: 1, most: 12, names: monthNames }
/** 0 and 7 are both Sunday. */
const dayOfWeek: Field = { name: 'day of week', least: 0, most: 7, names: dayNames }

const aliases: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])

/** Why an expression can't be read, for who wrote it. */
export class ExpressionFault extends Error {}

const range = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)

const numberOf = (text: string, field: Field): number => {
  const named = field.names.indexOf(text.toLowerCase())
  const value = named < 0 ? Number(text) : named + field.least
  if (!/^\d{1,2}$/.test(text) && named < 0)
    throw new ExpressionFault(`\`${text}\` is no ${field.name}${field.names.length ? ' nor the name of one' : ''}`)
  if (value < field.least || value > field.most)
    throw new ExpressionFault(`${field.name} ${text} is not between ${field.least} and ${field.most}`)
  return value
}

/** One part of a list: `*`, `5`, `1-5`, and the two with many values also with a step. */
const readItem = (item: string, field: Field): { text: string; values: number[] } => {
  const [, base = '', step] = /^([^/]*)(?:\/(.*))?$/s.exec(item) ?? []
  const [, first, last] = /^([^-]*)-([^-]*)$/.exec(base) ?? []
  const width = field === dayOfWeek ? 7 : field.most - field.least + 1
  if (step !== undefined && !(/^\d{1,2}$/.test(step) && Number(step) >= 1 && Number(step) <= width))
    throw new ExpressionFault(`the step of \`${item}\` is not between 1 and ${width}`)
  const suffix = step === undefined ? '' : `/${step}`
  if (base === '*') {
    const most = field === dayOfWeek ? 6 : field.most
    return { text: `*${suffix}`, values: range(field.least, most, Number(step ?? 1)) }
  }
  if (first === undefined || last === undefined) {
    const value = numberOf(base, field)
    if (step !== undefined) throw new ExpressionFault(`\`${item}\`: a step follows \`*\` or a range, as in \`1-9/2\``)
    return { text: `${value}`, values: [value] }
  }
  const from = numberOf(first, field)
  // A week may end on Sunday: FRI-SUN is 5-7.
  const to = last.toLowerCase() === 'sun' && from > 0 ? 7 : numberOf(last, field)
  if (from > to) throw new ExpressionFault(`\`${item}\` ends before it begins; write two ranges with a comma`)
  return { text: `${from}-${to}${suffix}`, values: range(from, to, Number(step ?? 1)) }
}

const readField = (text: string, field: Field): { text: string; values: number[] } => {
  const items = text.split(',').map((item) => readItem(item, field))
  return {
    text: items.map((item) => item.text).join(','),
    values: [...new Set(items.flatMap((item) => item.values))].sort((one, other) => one - other),
  }
}

/**
 * Reads five fields (minute, hour, day of month, month, day of week) or an alias; letters in either case. A field is `*` or
 * a list of numbers, names and ranges; `*` and ranges may have a step. Where both days are restricted, that is none of them
 * is `*`, either will do. There are no seconds, and no `?`, `L`, `W`, `#` and `+`, which each program reads its own way.
 *
 * @throws ExpressionFault
 */
export const readExpression = (expression: string): Expression => {
  const parts = expression.split(/[ \t]+/).filter((part) => part !== '')
  const [first = ''] = parts
  if (first.startsWith('@')) {
    const meant = parts.length === 1 ? aliases.get(first.toLowerCase()) : undefined
    if (!meant) throw new ExpressionFault(`of the words with an @ there are only ${[...aliases.keys()].join(' ')}`)
    return readExpression(meant)
  }
  const [ofMinute, ofHour, ofDay, ofMonth, ofWeekday, ...others] = parts
  if (!ofMinute || !ofHour || !ofDay || !ofMonth || !ofWeekday || others.length)
    throw new ExpressionFault(
      `takes five fields (minute, hour, day of month, month, day of week), not ${parts.length}; there is none for seconds or years`,
    )
  const minutes = readField(ofMinute, minute)
  const hours = readField(ofHour, hour)
  const days = [readField(ofDay, dayOfMonth), readField(ofMonth, month), readField(ofWeekday, dayOfWeek)]
  return {
    fields: [minutes, hours, ...days].map((field) => field.text).join(' '),
    minutes: minutes.values,
    hours: hours.values,
  }
}
