export const header = '// Made from the contract by `npm run gen`. Do not edit.\n\n'

/** `nodes.reports.list` → `NodesReportsList`. */
export const pascal = (name) =>
  name
    .split(/[._-]/)
    .map((part) => part[0].toUpperCase() + part.slice(1))
    .join('')

/** `customObjects` → `custom-objects`. */
export const kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Operations that an HTTP client can call, typed or not. */
export const routesOf = (contract) => contract.operations.filter(({ kind }) => kind === 'route' || kind === 'untyped')

export const gatesOf = ({ gate }) => (gate === undefined ? [] : [gate].flat())

/** A block comment of one or more lines at this depth; nothing for no text. */
export const docComment = (lines, indent = '') => {
  const text = lines.filter(Boolean).join('\n').replaceAll('*/', '* /').trim()
  if (!text) return ''
  const rows = text.split('\n')
  return rows.length === 1
    ? `${indent}/** ${rows[0]} */\n`
    : `${indent}/**\n${rows.map((row) => `${indent} *${row ? ` ${row}` : ''}\n`).join('')}${indent} */\n`
}
