const [begin, end] = ['\u0002', '\u0003']

type Range = readonly [from: number, to: number]

/** UTF-16 units of a fragment, those of it before the first word that was found, and how many are shown. */
const fragmentLength = 200
const before = 60
const fragments = 2
const gap = ' … '

export interface Snippet {
  snippet: string
  highlights: [number, number][]
}

/** Where the words stand in the text that was marked. */
const marked = (headline: string): Range[] => {
  const found: Range[] = []
  let length = 0
  for (const [at, part] of headline.split(begin).entries()) {
    const word = part.indexOf(end)
    if (at > 0 && word >= 0) found.push([length, length + word])
    length += part.length - (word >= 0 ? 1 : 0)
  }
  return found
}

/** Never inside a character, and at the border of a word where one is near. */
const border = (text: string, at: number, towards: 1 | -1): number => {
  for (let step = 0; step < 16; step += 1) {
    const place = at + step * towards
    if (place <= 0 || place >= text.length) return Math.max(0, Math.min(place, text.length))
    if (/\s/.test(text[place - (towards > 0 ? 0 : 1)] as string)) return place
  }
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}

const fragmentsOf = (text: string, words: readonly Range[]): Range[] => {
  const found: Range[] = []
  for (const [from] of words.length > 0 ? words : [[0, 0] as const]) {
    const last = found.at(-1)
    if (last && from < last[1]) continue
    if (found.length === fragments) break
    const start = border(text, Math.max(last?.[1] ?? 0, from - before), -1)
    found.push([Math.max(last?.[1] ?? 0, start), border(text, Math.min(text.length, start + fragmentLength), 1)])
  }
  return found
}

/**
 * The parts of a text around the words that were found in it, on one line.
 *
 * @param headline the text of the same length, with each word between U+0002 and U+0003
 */
export const snippetOf = (text: string, headline: string): Snippet => {
  const words = marked(headline)
  const highlights: [number, number][] = []
  let snippet = ''
  for (const [from, to] of fragmentsOf(text, words)) {
    if (from > 0 || snippet !== '') snippet += snippet === '' ? '… ' : gap
    const moved = snippet.length - from
    for (const [start, stop] of words) if (start >= from && stop <= to) highlights.push([start + moved, stop + moved])
    snippet += text.slice(from, to)
  }
  const last = fragmentsOf(text, words).at(-1)
  if (last && last[1] < text.length) snippet += ' …'
  return { snippet: snippet.replace(/\s/g, ' '), highlights }
}
