import type { SearchAnswer, SearchQuery } from './search.query.js'

/** Characters of a line that are shown. */
const lineAtMost = 300
/** Lines that one match may span. */
const spanAtMost = 50

export interface FoundLine {
  readonly path: string
  /** Of its first line. */
  readonly line: number
  /** A line, or the lines that a match spans. */
  readonly text: string
  /** Character at which the match begins; absent in a line that stands around a match. */
  readonly at?: number
}

/** A line cut around what was found in it. */
const cutAround = (text: string, at = 0): string => {
  if (text.length <= lineAtMost) return text
  const from = Math.max(0, Math.min(at - lineAtMost / 3, text.length - lineAtMost))
  const end = Math.min(text.length, from + lineAtMost)
  return `${from > 0 ? '[…] ' : ''}${text.slice(from, end)}${end < text.length ? ' […]' : ''}`
}

const numbered = (sign: string, { path, line, text, at }: FoundLine): string[] => {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  const shown = lines
    .slice(0, spanAtMost)
    .map((one, offset) => `${path}${sign}${line + offset}${sign}${cutAround(one, offset ? 0 : at)}`)
  return lines.length > spanAtMost ? [...shown, `[… ${lines.length - spanAtMost} more lines of this match …]`] : shown
}

const linesIn = (text: string): number => text.replace(/\r?\n$/, '').split('\n').length

/** Puts the lines that a search finds together: each match with those around it, as many matches as are wanted. */
export class Matches {
  readonly #entries: string[][] = []
  #count = 0
  #pending: FoundLine[] = []
  /** The newest match, whose lines after it are still to come. */
  #last: { path: string; matchEnd: number; shownEnd: number; entry: string[] } | undefined

  constructor(private readonly query: Pick<SearchQuery, 'offset' | 'limit' | 'before' | 'after'>) {}

  /** Whether more was found than is wanted: the search can end. */
  get full(): boolean {
    return this.#count > this.query.offset + this.query.limit
  }

  get answer(): SearchAnswer {
    return { entries: this.#entries.map((lines) => lines.join('\n')), more: this.full }
  }

  /** Something that is no line: a path, or a path and a number. */
  plain(entry: string): void {
    this.#count += 1
    if (this.#isWanted) this.#entries.push([entry])
  }

  match(found: FoundLine): void {
    this.#count += 1
    const first = this.#pending[0]?.line ?? found.line
    const follows = this.#last?.path === found.path && first <= this.#last.shownEnd + 1
    const divided = !follows && this.#entries.length > 0 && this.query.before + this.query.after > 0
    const entry = [
      ...(divided ? ['--'] : []),
      ...this.#pending.flatMap((line) => numbered('-', line)),
      ...numbered(':', found),
    ]
    const end = found.line + linesIn(found.text) - 1
    this.#pending = []
    this.#last = { path: found.path, matchEnd: end, shownEnd: end, entry }
    if (this.#isWanted) this.#entries.push(entry)
  }

  /** A line around a match, told in its place: after the last one, or before the next. */
  context(found: FoundLine): void {
    const last = this.#last
    if (last?.path !== found.path || found.line > last.matchEnd + this.query.after) {
      this.#pending.push(found)
      return
    }
    last.entry.push(...numbered('-', found))
    last.shownEnd = found.line
  }

  get #isWanted(): boolean {
    return this.#count > this.query.offset && !this.full
  }
}
