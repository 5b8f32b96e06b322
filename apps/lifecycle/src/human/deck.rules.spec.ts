import { describe, expect, it } from '@jest/globals'
import { type HumanPage, humanPage } from '#common/contract/human.schema.js'
import { completed, deckFaults, responseFaults } from './deck.rules.js'

const page = (more: Record<string, unknown>): HumanPage =>
  humanPage.parse({ id: 'p', kind: 'decision', title: 'Which?', ...more })
const options = [
  { id: 'a', label: 'A' },
  { id: 'b', label: 'B' },
]
const one = page({ options })
const several = page({ options, multiSelect: true })
const words = page({ allowFreetext: true })
const notify = page({ kind: 'notify' })
const context = page({ kind: 'context' })

const pointers = (pages: readonly HumanPage[], items: Parameters<typeof responseFaults>[1]): string[] =>
  responseFaults(pages, items, '/response').map(({ pointer }) => pointer)

describe('a response', () => {
  it.each<[string, HumanPage, Record<string, unknown>]>([
    ['one option', one, { selectedOptionId: 'a' }],
    ['several options', several, { selectedOptionIds: ['a', 'b'] }],
    ['words', words, { freetext: 'this way' }],
    ['an acknowledgement', notify, {}],
    ['remarks on options', one, { selectedOptionId: 'a', optionComments: { b: 'too dear' } }],
  ])('may be %s', (_, asked, item) => {
    expect(pointers([asked], [{ id: 'p', ...item }])).toEqual([])
  })

  it.each<[string, HumanPage, Record<string, unknown>, string]>([
    ['an unknown page', one, { id: 'q', selectedOptionId: 'a' }, '/response/0/id'],
    ['an unknown option', one, { selectedOptionId: 'c' }, '/response/0/selectedOptionId'],
    ['several where one is chosen', one, { selectedOptionIds: ['a'] }, '/response/0/selectedOptionIds'],
    ['one where several are chosen', several, { selectedOptionId: 'a' }, '/response/0/selectedOptionId'],
    ['an option twice', several, { selectedOptionIds: ['a', 'a'] }, '/response/0/selectedOptionIds/1'],
    ['an unknown one among several', several, { selectedOptionIds: ['a', 'c'] }, '/response/0/selectedOptionIds/1'],
    ['words where none are taken', one, { selectedOptionId: 'a', freetext: 'x' }, '/response/0/freetext'],
    ['nothing', one, {}, '/response/0'],
    ['blank words', words, { freetext: ' ' }, '/response/0'],
    ['an option of a page that only tells', notify, { selectedOptionId: 'a' }, '/response/0/selectedOptionId'],
    [
      'a remark on an unknown option',
      one,
      { selectedOptionId: 'a', optionComments: { c: 'x' } },
      '/response/0/optionComments/c',
    ],
  ])('may not be %s', (_, asked, item, pointer) => {
    expect(pointers([asked], [{ id: 'p', ...item }])).toContain(pointer)
  })

  it('leaves no decision and no notification out, but what only informs', () => {
    expect(pointers([one], [])).toEqual(['/response'])
    expect(pointers([notify], [])).toEqual(['/response'])
    expect(pointers([context], [])).toEqual([])
  })

  it('answers no page twice', () => {
    const twice = [
      { id: 'p', selectedOptionId: 'a' },
      { id: 'p', selectedOptionId: 'b' },
    ]
    expect(pointers([one], twice)).toEqual(['/response/1/id'])
  })

  it('is completed by what stood on a page that was left as it was', () => {
    const asked = page({ options, preAnswered: { selectedOptionId: 'b' } })
    expect(pointers([asked], [])).toEqual([])
    expect(completed([asked], [])).toEqual([{ id: 'p', selectedOptionId: 'b' }])
    expect(completed([asked], [{ id: 'p', selectedOptionId: 'a' }])).toEqual([{ id: 'p', selectedOptionId: 'a' }])
  })
})

describe('a deck', () => {
  it.each<[string, HumanPage, string]>([
    ['a decision without a way to decide', page({}), '/pages/0/options'],
    ['a notification with options', page({ kind: 'notify', options }), '/pages/0/kind'],
    ['several of no options', page({ multiSelect: true, allowFreetext: true }), '/pages/0/multiSelect'],
    ['a label of no freetext', page({ options, freetextLabel: 'Why' }), '/pages/0/freetextLabel'],
    [
      'an unknown option chosen before',
      page({ options, preAnswered: { selectedOptionId: 'c' } }),
      '/pages/0/preAnswered/selectedOptionId',
    ],
    ['a notification acknowledged before', page({ kind: 'notify', preAnswered: {} }), '/pages/0/preAnswered'],
  ])('has no page that is %s', (_, asked, pointer) => {
    expect(deckFaults([asked]).map((fault) => fault.pointer)).toEqual([pointer])
  })

  it('may offer ways out of an error, which then must be decided', () => {
    const error = page({ kind: 'error', options })
    expect(deckFaults([error])).toEqual([])
    expect(pointers([error], [{ id: 'p' }])).toEqual(['/response/0'])
    expect(pointers([page({ kind: 'error' })], [{ id: 'p' }])).toEqual([])
  })
})
