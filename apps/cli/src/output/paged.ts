import type { Page, PageList } from '#sdk/index.js'
import type { Invocation } from '../invocation.js'

export interface PagedOptions {
  readonly after?: string
  readonly limit?: number
  readonly all?: boolean
}

/**
 * A page of a list, or with `--all` every page: as a text, or as JSON, then one record a line.
 *
 * @returns the first page
 */
export const printPaged = async <T>(
  { out, json, options }: Invocation<PagedOptions>,
  list: PageList<T>,
  textOf: (entries: readonly T[]) => string,
): Promise<Page<T>> => {
  const page = await list.page
  if (!options.all) {
    if (json) out.json(page)
    else out.line(textOf(page.data))
    if (!json && page.has_more) out.note(`there are more: --after ${page.next_cursor}, or --all for every one`)
    return page
  }
  const entries: T[] = []
  for await (const one of list) {
    if (json) out.record(one)
    else entries.push(one)
  }
  if (!json) out.line(textOf(entries))
  return page
}

/** Every entry of every page. */
export const entriesOf = async <T>(list: PageList<T>): Promise<T[]> => {
  const entries: T[] = []
  for await (const one of list) entries.push(one)
  return entries
}

/** The query of a page, after the cursor of the one before if there was one. */
export const queryOf = (fields: object, after: string | undefined): string => {
  const query = new URLSearchParams(after === undefined ? { ...fields } : { ...fields, after })
  return query.size ? `?${query}` : ''
}
