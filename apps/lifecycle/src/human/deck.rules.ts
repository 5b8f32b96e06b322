import type { HumanPage, HumanResponseItem } from '#common/contract/human.schema.js'
import type { FieldFault } from '#common/kernel/errors.js'

type Pages = readonly HumanPage[]
type Chosen = Omit<HumanResponseItem, 'id' | 'optionComments'>

/** A page that somebody must decide: one of kind error may offer ways out. */
const isDecided = ({ kind, options, allowFreetext }: HumanPage): boolean =>
  kind === 'decision' || (kind === 'error' && (options.length > 0 || allowFreetext))

/** What speaks against a deck that is to be asked. */
export const deckFaults = (pages: Pages): FieldFault[] => pages.flatMap((page, at) => pageFaults(page, `/pages/${at}`))

const pageFaults = (page: HumanPage, at: string): FieldFault[] => {
  const asks = page.options.length > 0 || page.allowFreetext
  if (page.kind === 'decision' && !asks) return [fault(`${at}/options`, 'a decision needs options, or allowFreetext')]
  if ((page.kind === 'notify' || page.kind === 'context') && asks) {
    return [fault(`${at}/kind`, `a page of kind ${page.kind} takes no options and no freetext: use decision`)]
  }
  if (page.multiSelect && page.options.length === 0) return [fault(`${at}/multiSelect`, 'needs options')]
  if (page.freetextLabel !== undefined && !page.allowFreetext) {
    return [fault(`${at}/freetextLabel`, 'needs allowFreetext')]
  }
  if (!page.preAnswered) return []
  if (!isDecided(page)) return [fault(`${at}/preAnswered`, 'stands on decisions only')]
  return itemFaults(page, page.preAnswered, `${at}/preAnswered`)
}

/**
 * What speaks against a response to a deck, each fault with its place.
 *
 * @param at JSON pointer of the response
 */
export const responseFaults = (pages: Pages, items: readonly HumanResponseItem[], at: string): FieldFault[] => {
  const answered = new Set<string>()
  const faults = items.flatMap((item, index) => {
    const place = `${at}/${index}`
    const page = pages.find(({ id }) => id === item.id)
    if (!page) return [fault(`${place}/id`, `there is no page ${item.id}`)]
    if (answered.has(item.id)) return [fault(`${place}/id`, `page ${item.id} is answered twice`)]
    answered.add(item.id)
    return [...itemFaults(page, item, place), ...commentFaults(page, item, place)]
  })
  const left = pages.filter(({ id, kind, preAnswered }) => !answered.has(id) && kind !== 'context' && !preAnswered)
  return [
    ...faults,
    ...left.map((page) =>
      fault(at, `page ${page.id} must be ${isDecided(page) ? 'decided' : 'acknowledged'}: an entry with its id`),
    ),
  ]
}

const itemFaults = (page: HumanPage, item: Chosen, at: string): FieldFault[] => {
  const { selectedOptionId: one, selectedOptionIds: many, freetext } = item
  if (one !== undefined && (page.multiSelect || page.options.length === 0)) {
    return [
      fault(`${at}/selectedOptionId`, page.multiSelect ? 'several may be chosen: use selectedOptionIds' : noOptions),
    ]
  }
  if (many !== undefined && !page.multiSelect) {
    return [
      fault(`${at}/selectedOptionIds`, page.options.length > 0 ? 'one is chosen: use selectedOptionId' : noOptions),
    ]
  }
  if (freetext !== undefined && !page.allowFreetext) return [fault(`${at}/freetext`, 'this page takes no freetext')]
  const known = new Set(page.options.map(({ id }) => id))
  const faults: FieldFault[] = []
  if (one !== undefined && !known.has(one)) faults.push(fault(`${at}/selectedOptionId`, `there is no option ${one}`))
  many?.forEach((id, index) => {
    if (!known.has(id)) faults.push(fault(`${at}/selectedOptionIds/${index}`, `there is no option ${id}`))
    else if (many.indexOf(id) !== index) faults.push(fault(`${at}/selectedOptionIds/${index}`, 'is chosen twice'))
  })
  const said = one !== undefined || (many?.length ?? 0) > 0 || (freetext ?? '').trim() !== ''
  if (isDecided(page) && !said) faults.push(fault(at, 'must choose an option or say something'))
  return faults
}

const noOptions = 'this page has no options'

const commentFaults = (page: HumanPage, item: HumanResponseItem, at: string): FieldFault[] =>
  Object.keys(item.optionComments ?? {})
    .filter((id) => !page.options.some((option) => option.id === id))
    .map((id) => fault(`${at}/optionComments/${id}`, `there is no option ${id}`))

/** The response with what stood on pages that the person left as they were. In the order of the pages. */
export const completed = (pages: Pages, items: readonly HumanResponseItem[]): HumanResponseItem[] =>
  pages.flatMap((page) => {
    const given = items.find(({ id }) => id === page.id)
    if (given) return [given]
    return page.preAnswered ? [{ id: page.id, ...page.preAnswered }] : []
  })

const fault = (pointer: string, message: string): FieldFault => ({ pointer, message })
