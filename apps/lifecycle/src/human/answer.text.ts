import type { HumanPage, HumanResponseItem } from '#common/contract/human.schema.js'
import type { HumanRequestRecord } from './human-request.record.js'

/** What became of a question, as the one who asked reads it. */
export const resolutionText = (row: HumanRequestRecord): string => {
  const about = `your question "${row.title}" (${row.id})`
  const why = row.reason === null ? '' : `: ${row.reason}`
  switch (row.status) {
    case 'answered':
      return `Answer to ${about}:\n${responseText(row.pages, row.response ?? [])}`
    case 'dismissed':
      return `Nobody answers ${about}: it was dismissed${why}. Decide by yourself what can be decided, or ask otherwise.`
    case 'expired':
      return row.response
        ? `Nobody answered ${about} until its deadline, so that its default stands:\n${responseText(row.pages, row.response)}`
        : `Nobody answered ${about} until its deadline.`
    case 'canceled':
      return `Withdrawn: ${about}${why}. No answer will come.`
    case 'pending':
      return `Asked: ${about}`
  }
}

/** What was chosen, a line a page. */
export const responseText = (pages: readonly HumanPage[], items: readonly HumanResponseItem[]): string =>
  items
    .flatMap((item) =>
      itemText(
        pages.find(({ id }) => id === item.id),
        item,
      ),
    )
    .join('\n')

const itemText = (page: HumanPage | undefined, item: HumanResponseItem): string[] => {
  const labelOf = (id: string): string => {
    const label = page?.options.find((option) => option.id === id)?.label
    return label === undefined || label === id ? id : `${label} (${id})`
  }
  const chosen = [
    ...(item.selectedOptionId === undefined ? [] : [item.selectedOptionId]),
    ...(item.selectedOptionIds ?? []),
  ]
  const said = [
    ...(chosen.length > 0 ? [chosen.map(labelOf).join(', ')] : []),
    ...(item.freetext === undefined ? [] : [item.freetext]),
  ]
  const comments = Object.entries(item.optionComments ?? {}).map(([id, text]) => `  on ${labelOf(id)}: ${text}`)
  return [`- ${page?.title ?? item.id}: ${said.length > 0 ? said.join('; ') : 'acknowledged'}`, ...comments]
}
