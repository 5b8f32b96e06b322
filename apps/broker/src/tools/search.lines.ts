import type { Matches } from './search.matches.js'
import type { SearchQuery } from './search.query.js'

/** Longer lines are looked at only this far: an expression may take long for each character. */
const longestLine = 100_000

/** Lines that belong to one match, counted from 0, and the character of the first at which it begins. */
interface Span {
  readonly first: number
  last: number
  readonly at: number
}

const spansByLine = (lines: readonly string[], expression: RegExp): Span[] =>
  lines.flatMap((line, at) => {
    expression.lastIndex = 0
    const found = expression.exec(line.slice(0, longestLine))
    return found ? [{ first: at, last: at, at: found.index }] : []
  })

/** Matches that reach over lines; two that share a line are one. */
const spansOf = (text: string, lines: readonly string[], expression: RegExp): Span[] => {
  const starts: number[] = []
  for (let at = 0, line = 0; line < lines.length; line += 1) {
    starts.push(at)
    at += lines[line]!.length + 1
  }
  const lineAt = (position: number): number => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (starts[middle]! <= position) low = middle
      else high = middle - 1
    }
    return low
  }
  const spans: Span[] = []
  for (const { 0: found, index } of text.matchAll(expression)) {
    const first = lineAt(index)
    const last = lineAt(Math.max(index, index + found.length - 1))
    const before = spans.at(-1)
    if (before && first <= before.last) before.last = Math.max(before.last, last)
    else spans.push({ first, last, at: index - starts[first]! })
  }
  return spans
}

/** What a search finds in one text, told to `matches`. */
export const findIn = (
  { path, text }: { path: string; text: string },
  { query, expression, matches }: { query: SearchQuery; expression: RegExp; matches: Matches },
): void => {
  const whole = text.replaceAll('\r\n', '\n')
  const lines = (whole.endsWith('\n') ? whole.slice(0, -1) : whole).split('\n')
  const spans = query.multiline ? spansOf(whole, lines, expression) : spansByLine(lines, expression)
  if (!spans.length) return
  if (query.mode !== 'lines') {
    // As ripgrep counts: lines, but where matches may span them, matches.
    const count = query.multiline ? [...whole.matchAll(expression)].length : spans.length
    matches.plain(query.mode === 'files' ? path : `${path}:${count}`)
    return
  }
  const around = (from: number, to: number): void => {
    for (let at = from; at <= to; at += 1) matches.context({ path, line: at + 1, text: lines[at]! })
  }
  for (const [nth, { first, last, at }] of spans.entries()) {
    const end = spans[nth - 1]?.last ?? -1
    const next = spans[nth + 1]?.first ?? lines.length
    around(Math.max(end + 1 + (nth ? query.after : 0), first - query.before), first - 1)
    matches.match({ path, line: first + 1, text: lines.slice(first, last + 1).join('\n'), at })
    around(last + 1, Math.min(last + query.after, next - 1))
    if (matches.full) return
  }
}
