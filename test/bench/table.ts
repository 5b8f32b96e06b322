import { isReached, type Row } from './row.js'

const shown = (value: number): string =>
  value >= 1000
    ? Math.round(value).toLocaleString('en')
    : value >= 100
      ? value.toFixed(0)
      : value.toFixed(value >= 10 ? 1 : 2)

const cpuOf = ({ cpu = {} }: Row): string =>
  Object.entries(cpu)
    .filter(([, spent]) => spent >= 0.005)
    .map(([group, spent]) => `${group} ${shown(spent)}`)
    .join(', ')

/** How much more than its floor a row costs: times as long, or as often less. */
export const ratioOf = (row: Row, rows: readonly Row[]): number | undefined => {
  const floor = rows.find(({ name }) => name === row.floor)?.value.median
  if (floor === undefined) return undefined
  return row.unit === '/s' ? floor / row.value.median : row.value.median / floor
}

const cells = (row: Row, rows: readonly Row[]): string[] => {
  const { value, unit, target } = row
  const ratio = ratioOf(row, rows)
  const reached = isReached(row)
  return [
    row.name,
    `${shown(value.median)} ${unit}`,
    `${shown(value.min)} – ${shown(value.max)}`,
    ratio === undefined ? '' : `${shown(ratio)} ×`,
    target ? `${target.bound === 'most' ? '≤' : '≥'} ${shown(target.value)}` : '',
    reached === undefined ? '' : reached ? 'ok' : 'short',
    cpuOf(row),
  ]
}

const heads = ['what', 'median', 'over the rounds', 'to its floor', 'target', '', 'CPU ms an operation']

/** As Markdown, which a terminal shows well enough. */
export const tableOf = (rows: readonly Row[]): string => {
  const lines = [heads, ...rows.map((row) => cells(row, rows))]
  const widths = heads.map((_, at) => Math.max(3, ...lines.map((line) => line[at]?.length ?? 0)))
  const drawn = lines.map((line) => `| ${line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`)
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  return [drawn[0], rule, ...drawn.slice(1)].join('\n')
}
