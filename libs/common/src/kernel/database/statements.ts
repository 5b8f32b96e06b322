import type { QueryConfig } from 'pg'
import { columnTypes } from './column-types.js'

/** Distinct texts that are prepared; later ones are planned at each use, so that made-up texts can't fill connections. */
const MAX_PREPARED = 500
const names = new Map<string, string>()

/** Name under which a text is prepared on every connection, or undefined when there are too many already. */
export const statementName = (text: string): string | undefined => {
  const known = names.get(text)
  if (known !== undefined || names.size >= MAX_PREPARED) return known
  const name = `s${names.size}`
  names.set(text, name)
  return name
}

export const statement = (text: string, values?: readonly unknown[]): QueryConfig => {
  const name = statementName(text)
  return { text, types: columnTypes, ...(name !== undefined && { name }), ...(values && { values: [...values] }) }
}
