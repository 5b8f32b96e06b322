import type { GrepMatch } from '#common/contract/history.schema.js'
import type { LinePattern } from './grep.pattern.js'
import { looked, type PassageRow } from './history.repository.js'

/** Where a grep goes on: below this passage, or in the one before it behind this line. */
export interface Place {
  readonly below: number
  readonly line: number
}

export type Cut = 'limit' | 'time' | 'bytes'
type Passage = PassageRow & { readonly body: string }

export interface WalkBounds {
  /** Lines at most. */
  readonly limit: number
  readonly context: number
  /** Text (bytes) that is looked at, about. */
  readonly bytes: number
}

/** Blocks grow by this many powers of two when little is found in them, soon enough (ms) for one eight times as long. */
const [smallest, step, greatest] = [12, 3, 21]
const few = 32
const soon = 40
/** Characters of a line that are shown. */
const lineLength = 400

/** The way of one grep through the passages, from the newest to the oldest, block by block. */
export class GrepWalk {
  readonly matches: GrepMatch[] = []
  bytes = 0
  #shift: number = smallest

  constructor(
    private readonly pattern: LinePattern,
    private readonly bounds: WalkBounds,
    private place: Place,
  ) {}

  get at(): Place {
    return this.place
  }

  get isOver(): boolean {
    return this.place.below <= 1
  }

  /** The block of ids to look at next. */
  get block(): { readonly shift: number; readonly block: number; readonly below: number } {
    const { below } = this.place
    return { shift: this.#shift, block: Math.floor((below - 1) / 2 ** this.#shift), below }
  }

  /** Takes the lines of a passage that fit; answers why it may take no more. */
  take(row: Passage): Cut | null {
    const behind = row.id === this.place.below - 1 ? this.place.line : 0
    for (const match of linesOf(row, this.pattern, this.bounds.context, behind)) {
      if (this.matches.length === this.bounds.limit) return 'limit'
      this.matches.push(match)
      this.place = { below: row.id + 1, line: match.line }
    }
    this.place = { below: row.id, line: 0 }
    this.bytes += Buffer.byteLength(row.body)
    return this.bytes > this.bounds.bytes ? 'bytes' : null
  }

  /** After all rows of a block were taken that one look gave, in so many ms. */
  turn(rows: number, took: number): void {
    const { shift, block } = this.block
    if (rows < looked) this.place = { below: Math.min(this.place.below, block * 2 ** shift), line: 0 }
    if (rows <= few && took < soon) this.#shift = Math.min(shift + step, greatest)
    else if (took > soon * 4) this.#shift = smallest
  }
}

const linesOf = (row: Passage, { find }: LinePattern, context: number, behind: number): GrepMatch[] => {
  const lines = row.body.split('\n')
  return lines.flatMap((text, at) => {
    const line = row.line + at
    const found = line > behind && find(text)
    if (!found) return []
    return [
      {
        node_id: row.node_id,
        node_name: row.node_name,
        kind: row.kind,
        turn: row.turn,
        step: row.step,
        label: row.label,
        ref: row.ref,
        at: row.at.toISOString(),
        line,
        text: around(text, found),
        before: lines.slice(Math.max(0, at - context), at).map((each) => around(each)),
        after: lines.slice(at + 1, at + 1 + context).map((each) => around(each)),
      },
    ]
  })
}

/** A line, or the part of a long one where something was found. */
const around = (line: string, [from]: readonly [number, number] = [0, 0]): string => {
  if (line.length <= lineLength) return line
  const start = Math.max(0, Math.min(from - lineLength / 4, line.length - lineLength))
  const part = line.slice(start, start + lineLength).toWellFormed()
  return `${start > 0 ? '…' : ''}${part}${start + lineLength < line.length ? '…' : ''}`
}
