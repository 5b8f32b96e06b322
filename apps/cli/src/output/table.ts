import { cut, padded, widthOf } from './width.js'

/** Rows under headings, columns two spaces apart; nothing but the headings where there are no rows. */
export const table = (headings: readonly string[], given: readonly (readonly string[])[]): string => {
  const rows = given.map((cells) => cells.map(oneLine))
  const widths = headings.map((heading, at) => Math.max(heading.length, ...rows.map((row) => widthOf(row[at] ?? ''))))
  const lineOf = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (at === cells.length - 1 ? cell : padded(cell, widths[at] ?? 0)))
      .join('  ')
      .trimEnd()
  return [headings, ...rows].map(lineOf).join('\n')
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A name with line ends in it would be taken for two rows. */
export const oneLine = (text: string): string => text.replace(/[\n\r\t]/g, (found) => escapes[found] ?? found)

/** Names and values in two columns; absent values are left out. */
export const facts = (pairs: readonly (readonly [string, string | number | null | undefined])[]): string => {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(0, ...given.map(([name]) => name.length))
  return given.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

/** The first line of a text, cut to so many columns. */
export const brief = (text: string, length = 60): string => {
  const [first = ''] = text.split('\n')
  return cut(first, length)
}
