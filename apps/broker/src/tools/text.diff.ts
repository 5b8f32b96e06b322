/** Lines around a change that are shown. */
const around = 3
const shownLines = 60
const longestLine = 200
/** Lines that differ, beyond which a change is told as one replaced piece. */
const editsAtMost = 400

interface Row {
  readonly sign: ' ' | '+' | '-'
  readonly text: string
  /** Number of the line: of the new text, and for what was removed of the old. */
  readonly number: number
}

/** Myers' shortest edit script: for each round the furthest points reached; undefined when the texts differ too much. */
const rounds = (a: readonly string[], b: readonly string[]): Map<number, number>[] | undefined => {
  let reached = new Map([[1, 0]])
  const found: Map<number, number>[] = []
  for (let edits = 0; edits <= Math.min(editsAtMost, a.length + b.length); edits += 1) {
    found.push(reached)
    const next = new Map(reached)
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1))
      let x = down ? (reached.get(k + 1) ?? 0) : (reached.get(k - 1) ?? 0) + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      next.set(k, x)
      if (x >= a.length && x - k >= b.length) return found
    }
    reached = next
  }
  return undefined
}

/** Which lines of `a` go and which of `b` come, as pairs of positions where each step began. */
const script = (a: readonly string[], b: readonly string[]): { removed: Set<number>; added: Set<number> } => {
  const all = rounds(a, b)
  if (!all) return { removed: new Set(a.keys()), added: new Set(b.keys()) }
  const removed = new Set<number>()
  const added = new Set<number>()
  let [x, y] = [a.length, b.length]
  for (let edits = all.length - 1; edits > 0; edits -= 1) {
    const reached = all[edits]!
    const k = x - y
    const down = k === -edits || (k !== edits && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1))
    const from = down ? k + 1 : k - 1
    x = reached.get(from) ?? 0
    y = x - from
    if (down) added.add(y)
    else removed.add(x)
  }
  return { removed, added }
}

const rowsOf = (a: readonly string[], b: readonly string[]): Row[] => {
  let same = 0
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1
  let end = 0
  while (end < a.length - same && end < b.length - same && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  const { removed, added } = script(a.slice(same, a.length - end), b.slice(same, b.length - end))
  const rows: Row[] = []
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (removed.has(i - same)) rows.push({ sign: '-', text: a[i]!, number: ++i })
    else if (added.has(j - same)) rows.push({ sign: '+', text: b[j]!, number: ++j })
    else {
      rows.push({ sign: ' ', text: b[j]!, number: ++j })
      i += 1
    }
  }
  return rows
}

const shown = ({ sign, text, number }: Row): string => {
  const bare = text.replace(/\r$/, '')
  const cut = bare.length > longestLine ? `${bare.slice(0, longestLine)} […]` : bare
  return `${String(number).padStart(6)} ${sign} ${cut}`.trimEnd()
}

interface TextDiff {
  readonly added: number
  readonly removed: number
  /** Changed lines with those around them, numbered; a bounded number of them. */
  readonly text: string
}

/** What changed between two texts, line by line. */
export const diffOf = (before: string, after: string): TextDiff => {
  const ended = before.endsWith('\n') && after.endsWith('\n')
  const linesOf = (text: string): string[] => (ended ? text.slice(0, -1) : text).split('\n')
  const rows = rowsOf(linesOf(before), linesOf(after))
  const near = new Set<number>()
  for (const [at, { sign }] of rows.entries()) {
    if (sign !== ' ') for (let one = at - around; one <= at + around; one += 1) near.add(one)
  }
  const lines: string[] = []
  let last = -1
  for (const [at, row] of rows.entries()) {
    if (!near.has(at)) continue
    if (lines.length && at !== last + 1) lines.push('       …')
    lines.push(shown(row))
    last = at
  }
  const rest = lines.length - shownLines
  return {
    added: rows.filter(({ sign }) => sign === '+').length,
    removed: rows.filter(({ sign }) => sign === '-').length,
    text: [...lines.slice(0, shownLines), ...(rest > 0 ? [`[… ${rest} more lines of this change …]`] : [])].join('\n'),
  }
}
