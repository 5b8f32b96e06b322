import { describe, expect, it } from '@jest/globals'
import { answerOf, type Page, responseOf } from './answer.input.js'

const page = (more: Partial<Page>): Page => ({
  id: 'p',
  kind: 'decision',
  title: 'Which?',
  options: [
    { id: 'a', label: 'Left' },
    { id: 'b', label: 'Right' },
  ],
  multiSelect: false,
  allowFreetext: false,
  ...more,
})

describe('a line about a page', () => {
  it.each([
    ['a', { id: 'p', selectedOptionId: 'a' }],
    ['2', { id: 'p', selectedOptionId: 'b' }],
    [' right ', { id: 'p', selectedOptionId: 'b' }],
    ['c', { problem: 'say one of Left (a), Right (b)' }],
    ['0', { problem: 'say one of Left (a), Right (b)' }],
    ['', { problem: 'choose something' }],
  ])('%j of one choice', (line, answer) => {
    expect(answerOf(page({}), line)).toEqual(answer)
  })

  it('takes several where several may be chosen, and words where words are taken', () => {
    expect(answerOf(page({ multiSelect: true }), 'a, 2')).toEqual({ id: 'p', selectedOptionIds: ['a', 'b'] })
    expect(answerOf(page({ allowFreetext: true }), 'neither')).toEqual({ id: 'p', freetext: 'neither' })
  })

  it('leaves by a blank one what was chosen before, and acknowledges what only tells', () => {
    expect(answerOf(page({ preAnswered: { selectedOptionId: 'a' } }), '')).toBeNull()
    expect(answerOf(page({ kind: 'notify', options: [] }), '')).toEqual({ id: 'p' })
  })
})

describe('the flags', () => {
  it('need no page where only one can be meant, and acknowledge the others', () => {
    const told = page({ id: 'n', kind: 'notify', options: [] })
    expect(responseOf([page({}), told], { choose: ['b'] })).toEqual([{ id: 'p', selectedOptionId: 'b' }, { id: 'n' }])
  })

  it('name the page where several can be meant', () => {
    const pages = [page({}), page({ id: 'q', allowFreetext: true })]
    expect(() => responseOf(pages, { choose: ['a'] })).toThrow('which page?')
    expect(responseOf(pages, { choose: ['p=a'], say: ['q=x=y'] })).toEqual([
      { id: 'p', selectedOptionId: 'a' },
      { id: 'q', freetext: 'x=y' },
    ])
  })

  it('refuse an option that is not there', () => {
    expect(() => responseOf([page({})], { choose: ['p=c'] })).toThrow('there is no such option')
  })
})
