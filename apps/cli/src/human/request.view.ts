import type { HumanRequest } from '#sdk/index.js'
import type { Output } from '../output/output.js'
import { facts } from '../output/table.js'
import type { Page } from './answer.input.js'

type Said = NonNullable<HumanRequest['response']>[number]

export const requestText = (request: HumanRequest, out: Output): string =>
  [
    out.paint('bold', request.title),
    ...(request.subtitle ? [request.subtitle] : []),
    facts([
      ['id', request.id],
      ['status', request.status],
      ['node', request.node_id],
      ['asked', request.created_at],
      ['deadline', request.deadline],
      ['waiting', request.waiting_cost],
      ['reason', request.reason],
      ['resolved', request.resolved_at],
    ]),
    ...request.pages.flatMap((page) => ['', pageText(page, out), ...saidOf(request, page)]),
  ].join('\n')

/** A page as somebody reads it who is to answer it. */
export const pageText = (page: Page & { subtitle?: string; body?: string }, out: Output): string =>
  [
    `${out.paint('cyan', page.kind)} ${page.title} ${out.paint('dim', `(${page.id})`)}`,
    ...(page.subtitle ? [page.subtitle] : []),
    ...(page.body ? [page.body] : []),
    ...page.options.map(
      ({ id, label, description }, at) => `  ${at + 1}. ${label} (${id})${description ? `: ${description}` : ''}`,
    ),
    ...(page.allowFreetext ? [`  ${page.options.length > 0 ? 'or ' : ''}in your own words`] : []),
  ].join('\n')

const saidOf = ({ response, default: silence, status }: HumanRequest, page: Page): string[] => {
  const said = response?.find(({ id }) => id === page.id)
  if (said) return [`  → ${saidText(said, page)}`]
  const decided = status === 'pending' ? silence?.find(({ id }) => id === page.id) : undefined
  return decided ? [`  if nobody answers: ${saidText(decided, page)}`] : []
}

const saidText = ({ selectedOptionId, selectedOptionIds, freetext }: Said, { options }: Page): string => {
  const ids = [...(selectedOptionId === undefined ? [] : [selectedOptionId]), ...(selectedOptionIds ?? [])]
  const chosen = ids.map((chosenId) => options.find(({ id }) => id === chosenId)?.label ?? chosenId)
  return [chosen.join(', '), freetext ?? ''].filter(Boolean).join('; ') || 'acknowledged'
}
