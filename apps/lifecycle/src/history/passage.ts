import type { PassageKind } from '#common/contract/history.schema.js'

/** UTF-16 units of a passage: few enough to be ranked and shown in a moment. */
export const passageLength = 4000

export interface Piece {
  /** Number of its first line in the whole text, from 1. */
  readonly line: number
  readonly body: string
}

/** A row of canvas.passages to be. */
export interface NewPassage extends Piece {
  readonly nodeId: string
  readonly kind: PassageKind
  readonly ref: number
  /** Which text of its source. */
  readonly piece: number
  readonly turn: number | null
  readonly step: number | null
  readonly label: string | null
  readonly at: Date
}

/** Postgres takes no U+0000, and a character may not be cut in two. */
const storable = (text: string): string => text.replaceAll('\0', '\u{fffd}').toWellFormed()

/** The index at which a piece that begins at `from` ends: after a line end where there is one, never inside a character. */
const endOf = (text: string, from: number): number => {
  const most = from + passageLength
  if (most >= text.length) return text.length
  const lineEnd = text.lastIndexOf('\n', most - 1)
  if (lineEnd >= from) return lineEnd + 1
  const inside = text.charCodeAt(most)
  return inside >= 0xdc00 && inside <= 0xdfff ? most - 1 : most
}

const linesIn = (text: string): number => text.split('\n').length - 1

/** A text in pieces, one after the other without a gap; none for a blank text. */
export const piecesOf = (whole: string): Piece[] => {
  const text = storable(whole)
  const pieces: Piece[] = []
  let line = 1
  for (let from = 0; from < text.length; ) {
    const to = endOf(text, from)
    const body = text.slice(from, to)
    if (body.trim() !== '') pieces.push({ line, body })
    line += linesIn(body)
    from = to
  }
  return pieces
}
