import { describe, expect, it } from '@jest/globals'
import { closingSet } from './closing.set.js'

const watch = (subscriber: string, ...publishers: string[]) =>
  publishers.map((publisher) => ({ subscriber, publisher }))
const closed = (below: string[], ...watches: ReturnType<typeof watch>[]) =>
  [...closingSet('root', below, watches.flat())].sort()

describe('closing set', () => {
  it('is the node alone when nothing is below it', () => {
    expect(closed([], watch('parent', 'root'))).toEqual(['root'])
  })

  it('takes in all that only its own watch, at any depth', () => {
    expect(closed(['a', 'b', 'c'], watch('root', 'a', 'b'), watch('b', 'c'))).toEqual(['a', 'b', 'c', 'root'])
  })

  it('spares what somebody outside watches, and what that one watches', () => {
    const own = [watch('root', 'a', 'b'), watch('b', 'c')]
    expect(closed(['a', 'b', 'c'], ...own, watch('other', 'b'))).toEqual(['a', 'root'])
    expect(closed(['a', 'b', 'c'], ...own, watch('other', 'c'))).toEqual(['a', 'b', 'root'])
  })

  it('takes in those who only watch each other, and whom nobody watches', () => {
    expect(closed(['a', 'b', 'c'], watch('root', 'a', 'b'), watch('a', 'b'), watch('b', 'a'))).toEqual([
      'a',
      'b',
      'c',
      'root',
    ])
  })

  it('spares a whole ring for one of it that is watched from outside', () => {
    expect(closed(['a', 'b'], watch('root', 'a', 'b'), watch('a', 'b'), watch('b', 'a'), watch('other', 'a'))).toEqual([
      'root',
    ])
  })

  it('holds the node itself, whoever watches it', () => {
    expect(closed(['a'], watch('other', 'root'), watch('root', 'a'), watch('a', 'root'))).toEqual(['a', 'root'])
  })
})
