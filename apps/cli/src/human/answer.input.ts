import { UsageError } from '../failure.js'

export interface Option {
  readonly id: string
  readonly label: string
  readonly description?: string | undefined
}

/** What of a page decides how it is answered. */
export interface Page {
  readonly id: string
  readonly kind: string
  readonly title: string
  readonly options: readonly Option[]
  readonly multiSelect: boolean
  readonly allowFreetext: boolean
  readonly preAnswered?: object | undefined
}

export interface Item {
  readonly id: string
  readonly selectedOptionId?: string
  readonly selectedOptionIds?: string[]
  readonly freetext?: string
}

export interface Flags {
  readonly choose?: readonly string[]
  readonly say?: readonly string[]
}

export const isDecided = ({ options, allowFreetext }: Page): boolean => options.length > 0 || allowFreetext

/** A page's options by number, id or label; undefined when one is none of them. */
const optionsOf = ({ options }: Page, words: readonly string[]): string[] | undefined => {
  const found = words.map((word) => {
    const wanted = word.trim()
    const byName = options.find(({ id, label }) => id === wanted || label.toLowerCase() === wanted.toLowerCase())
    return byName ?? (/^\d+$/.test(wanted) ? options[Number(wanted) - 1] : undefined)
  })
  return found.every((option) => option !== undefined) ? found.map(({ id }) => id) : undefined
}

const optionNames = ({ options }: Page): string => options.map(({ id, label }) => `${label} (${id})`).join(', ')

/** What was chosen, in the field that the page takes. */
const chosen = (page: Page, ids: readonly string[]): Omit<Item, 'id'> =>
  page.multiSelect ? { selectedOptionIds: [...ids] } : { selectedOptionId: ids[0] as string }

/**
 * One line of a person about a page. A blank one leaves what was chosen before, or acknowledges.
 *
 * @returns the answer, null for a page that is left as it is, or why the line says nothing
 */
export const answerOf = (page: Page, line: string): Item | null | { readonly problem: string } => {
  const text = line.trim()
  if (!isDecided(page)) return { id: page.id }
  if (text === '') return page.preAnswered ? null : { problem: 'choose something' }
  if (page.options.length > 0) {
    const ids = optionsOf(page, page.multiSelect ? text.split(',') : [text])
    if (ids) return { id: page.id, ...chosen(page, ids) }
    if (!page.allowFreetext) return { problem: `say one of ${optionNames(page)}` }
  }
  return { id: page.id, freetext: text }
}

/** The page that `page=value` names, or the only one that can be meant. @throws UsageError */
const meant = (pages: readonly Page[], given: string, flag: string): readonly [Page, string] => {
  const [, name = '', value = ''] = /^([A-Za-z0-9_.-]{1,64})=(.*)$/s.exec(given) ?? []
  const named = pages.find(({ id }) => id === name)
  if (named) return [named, value]
  const decided = pages.filter(isDecided)
  if (decided.length === 1) return [decided[0] as Page, given]
  throw new UsageError(
    `${flag} ${given}: which page?`,
    `say <page>=…, with one of ${pages.map(({ id }) => id).join(', ')}`,
  )
}

/** The response that the flags state; pages that only tell are acknowledged with it. @throws UsageError */
export const responseOf = (pages: readonly Page[], { choose = [], say = [] }: Flags): Item[] => {
  const items = new Map<string, Item>()
  const put = (page: Page, more: Omit<Item, 'id'>): void =>
    void items.set(page.id, { ...items.get(page.id), id: page.id, ...more })
  for (const given of choose) {
    const [page, value] = meant(pages, given, '--choose')
    const ids = optionsOf(page, page.multiSelect ? value.split(',') : [value])
    if (!ids) {
      throw new UsageError(
        `--choose ${given}: there is no such option`,
        `page ${page.id} has ${optionNames(page) || 'no options'}`,
      )
    }
    put(page, chosen(page, ids))
  }
  for (const given of say) {
    const [page, value] = meant(pages, given, '--say')
    put(page, { freetext: value })
  }
  for (const page of pages) if (!items.has(page.id) && !isDecided(page)) put(page, {})
  return [...items.values()]
}
