import { describe, expect, it } from '@jest/globals'
import { type Page, PageList } from './page.js'

const pages: Record<string, Page<number>> = {
  first: { data: [1, 2], next_cursor: 'second', has_more: true },
  second: { data: [3], next_cursor: null, has_more: false },
}
const listOf = (asked: (string | undefined)[]) =>
  new PageList<number>(async (after) => {
    asked.push(after)
    return pages[after ?? 'first'] as Page<number>
  })

describe('a list', () => {
  it('is its first page when awaited', async () => {
    const asked: (string | undefined)[] = []
    const list = listOf(asked)
    expect(asked).toEqual([])
    expect(await list).toBe(pages.first)
    expect(await list.page).toBe(pages.first)
    expect(asked).toEqual([undefined])
  })

  it('is every entry of every page when iterated', async () => {
    const asked: (string | undefined)[] = []
    const found: number[] = []
    for await (const one of listOf(asked)) found.push(one)
    expect(found).toEqual([1, 2, 3])
    expect(asked).toEqual([undefined, 'second'])
  })

  it('reads no page that nobody wants', async () => {
    const asked: (string | undefined)[] = []
    for await (const one of listOf(asked)) if (one === 2) break
    expect(asked).toEqual([undefined])
  })
})
