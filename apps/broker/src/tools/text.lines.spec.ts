import { describe, expect, it } from '@jest/globals'
import { linesOf, type TextLine } from './text.lines.js'

const read = async (longest: number, ...pieces: string[]): Promise<TextLine[]> => {
  const found: TextLine[] = []
  for await (const line of linesOf(
    (async function* () {
      yield* pieces
    })(),
    longest,
  ))
    found.push(line)
  return found
}

describe('lines', () => {
  it('are the same wherever the pieces were cut, and whichever way they end', async () => {
    const expected = ['one', '', 'two', 'three'].map((text, at) => ({ number: at + 1, text, omitted: 0 }))
    expect(await read(100, 'one\r\n\ntwo\nthree')).toEqual(expected)
    expect(await read(100, 'on', 'e\r', '\n', '\ntw', 'o\nthree\n')).toEqual(expected)
  })

  it('that are too long are cut, and say by how much', async () => {
    expect(await read(4, 'abcd\nabcde', 'fgh\r\nx\r\n')).toEqual([
      { number: 1, text: 'abcd', omitted: 0 },
      { number: 2, text: 'abcd', omitted: 5 },
      { number: 3, text: 'x', omitted: 0 },
    ])
    expect(await read(4, 'abcd\r\n')).toEqual([{ number: 1, text: 'abcd', omitted: 0 }])
  })
})
