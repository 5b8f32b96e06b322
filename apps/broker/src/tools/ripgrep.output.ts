import { type FoundLine, Matches } from './search.matches.js'
import type { SearchAnswer, SearchQuery } from './search.query.js'

/** One record of ripgrep's, a line of a file with it, may be this long; a longer one is passed over. */
const longestRecord = 8 * 1024 * 1024

type Text = { readonly text?: string; readonly bytes?: string }
interface Told {
  readonly type: string
  readonly data: {
    readonly path: Text
    readonly lines: Text
    readonly line_number: number | null
    readonly submatches?: readonly { readonly start: number }[]
  }
}

/** What is no UTF-8 comes in base64. */
const textOf = ({ text, bytes }: Text): string => text ?? Buffer.from(bytes ?? '', 'base64').toString('utf8')

const lineOf = ({ path, lines, line_number, submatches }: Told['data'], prefix: string): FoundLine => {
  const text = textOf(lines)
  const start = submatches?.[0]?.start
  return {
    path: prefix + textOf(path).replace(/^\.\//, ''),
    line: line_number ?? 1,
    text,
    // Positions are counted in bytes.
    ...(start !== undefined && { at: Buffer.from(text).subarray(0, start).toString('utf8').length }),
  }
}

/** Reads what ripgrep prints, as it comes, and keeps what is wanted of it. */
export class RipgrepOutput {
  readonly #matches: Matches
  readonly #end: number
  #pieces: Buffer[] = []
  #length = 0
  #any = false
  #passing = false

  constructor(private readonly query: SearchQuery) {
    this.#matches = new Matches(query)
    // Names end with a zero byte, since they may hold a line's end.
    this.#end = query.pattern === undefined || query.mode === 'files' ? 0 : 0x0a
  }

  get full(): boolean {
    return this.#matches.full
  }

  get isEmpty(): boolean {
    return !this.#any
  }

  get answer(): SearchAnswer {
    return this.#matches.answer
  }

  add(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(this.#end); end >= 0 && !this.full; end = chunk.indexOf(this.#end, from)) {
      this.#keep(chunk.subarray(from, end))
      if (this.#passing) this.#matches.plain('[a line was found that is too long to be shown]')
      else this.#record(Buffer.concat(this.#pieces).toString('utf8'))
      this.#passing = false
      this.#pieces = []
      this.#length = 0
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length
    if (this.#length > longestRecord) {
      this.#passing = true
      this.#pieces = []
    } else if (piece.length) this.#pieces.push(piece)
  }

  #record(record: string): void {
    this.#any = true
    const { pattern, mode, prefix } = this.query
    if (pattern === undefined || mode === 'files') this.#matches.plain(prefix + record.replace(/^\.\//, ''))
    else if (mode === 'count') this.#matches.plain(prefix + record.replace(/^\.\//, '').replace('\0', ':'))
    else this.#told(JSON.parse(record) as Told)
  }

  #told({ type, data }: Told): void {
    if (type === 'match') this.#matches.match(lineOf(data, this.query.prefix))
    if (type === 'context') this.#matches.context(lineOf(data, this.query.prefix))
  }
}
