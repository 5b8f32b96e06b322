export interface TextLine {
  readonly number: number
  /** Its beginning, at most as long as asked for. */
  readonly text: string
  /** Characters of it that are left out. */
  readonly omitted: number
}

/** Lines of a text that comes in pieces, counted from 1. Never holds more of a line than `longest` characters. */
export async function* linesOf(pieces: AsyncIterable<string>, longest: number): AsyncGenerator<TextLine> {
  let number = 0
  let text = ''
  let length = 0
  const add = (part: string): void => {
    length += part.length
    // One more, since a line may end in a carriage return that is not part of it.
    if (text.length <= longest) text += part.slice(0, longest + 1 - text.length)
  }
  const take = (): TextLine => {
    const bare = length === text.length && text.endsWith('\r') ? text.slice(0, -1) : text
    const shown = bare.slice(0, longest)
    const omitted = length - (text.length - bare.length) - shown.length
    number += 1
    text = ''
    length = 0
    return { number, text: shown, omitted }
  }
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      add(piece.slice(from, end))
      yield take()
      from = end + 1
    }
    add(piece.slice(from))
  }
  if (length) yield take()
}
