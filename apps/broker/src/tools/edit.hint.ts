import { distance } from './near.names.js'

/** Lines of a file that are compared with what was looked for. */
const comparedLines = 20_000
const shownLength = 160

/** White space made visible where it is easily mistaken: at the beginning and the end of a line. */
const visible = (line: string): string => {
  const mark = (space: string): string =>
    space.replaceAll('\t', '→').replaceAll(' ', '·').replaceAll('\r', '␍').replaceAll('\u00a0', '⍽')
  const [, before = '', text = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(line) ?? []
  return mark(before) + text.replaceAll('\t', '→').replaceAll('\u00a0', '⍽').slice(0, shownLength) + mark(after)
}

const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Quotes and dashes that look alike, made one. */
const plain = (text: string): string =>
  text
    .replace(/[‘’‚‛]/g, "'")
    .replace(/[“”„‟]/g, '"')
    .replace(/[‐‑‒–—]/g, '-')
    .replace(/…/g, '...')

/** Where a block of lines stands once both are made alike; -1: nowhere. */
const blockAt = (lines: readonly string[], wanted: readonly string[]): number =>
  lines.findIndex((_, at) => wanted.every((line, offset) => lines[at + offset] === line))

const withoutEdges = (lines: readonly string[]): string[] => {
  const first = lines.findIndex((line) => line.trim())
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => line.trim()) + 1)
}

const likeBut = (
  what: string,
  { text, wanted, alike }: { text: readonly string[]; wanted: readonly string[]; alike: (line: string) => string },
): string | undefined => {
  const at = blockAt(text.map(alike), wanted.map(alike))
  if (at < 0) return undefined
  const differing = wanted.findIndex((line, offset) => line !== text[at + offset])
  const offset = Math.max(0, differing)
  return ` Lines ${at + 1}–${at + wanted.length} are the same but for ${what}. The first that differs is line ${at + 1 + offset}; the file has\n${visible(text[at + offset]!)}\nand "old_text" has\n${visible(wanted[offset]!)}\n(→ is a tab, · a space, ␍ a carriage return, ⍽ a space that does not break)`
}

/** The line most like the first of those wanted, when it is much like it. */
const nearestLine = (text: readonly string[], wanted: readonly string[]): string | undefined => {
  const line = squeezed(wanted.find((one) => squeezed(one).length > 3) ?? '').slice(0, 200)
  if (!line) return undefined
  let best = { at: -1, changes: Math.floor(line.length / 3) + 1 }
  for (const [at, other] of text.entries()) {
    const changes = distance(line, squeezed(other).slice(0, 200), best.changes - 1)
    if (changes < best.changes) best = { at, changes }
    if (changes === 0) break
  }
  if (best.at < 0) return undefined
  if (best.changes === 0)
    return ` Its line ${best.at + 1} is in the file, but what stands around it differs: read the file there.`
  return ` The nearest is line ${best.at + 1}:\n${visible(text[best.at]!)}`
}

/** Why a text that looks right isn't in a file, and what is there instead. */
export const hintFor = (file: string, old: string): string => {
  if (/^\s*\d+\t/m.test(old) && !/^\s*\d+\t/m.test(file))
    return ' It seems to hold the line numbers that read shows: leave them out.'
  if (/\\[nt"]/.test(old) && file.includes(old.replaceAll('\\n', '\n').replaceAll('\\t', '\t').replaceAll('\\"', '"')))
    return ' It holds \\n, \\t or \\" as two characters where the file has one: escape it once less.'
  const text = file.split('\n').slice(0, comparedLines)
  const wanted = withoutEdges(old.split('\n'))
  if (!wanted.length) return ''
  return (
    likeBut('white space', { text, wanted, alike: squeezed }) ??
    likeBut('quotes or dashes', { text, wanted, alike: (line) => squeezed(plain(line)) }) ??
    nearestLine(text, wanted) ??
    ' Nothing in the file is like it: read it again, it may have changed.'
  )
}
