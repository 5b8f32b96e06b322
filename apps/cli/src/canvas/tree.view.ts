import type { RosterEntry } from '#sdk/index.js'
import { ago } from '../clock.js'
import { faultWord } from '../node/fault.text.js'
import type { Output } from '../output/output.js'
import { brief } from '../output/table.js'

const looks = {
  active: ['●', 'green'],
  idle: ['○', 'cyan'],
  done: ['✓', 'dim'],
  dead: ['✗', 'red'],
  canceled: ['⊘', 'dim'],
} as const

/** `● name  develop  active  3m  $0.02`, with what is wrong behind it. */
export const nodeLine = (node: RosterEntry, out: Output): string => {
  const [glyph, colour] = looks[node.status]
  const facts = [
    node.kind,
    node.streaming ? 'writing' : node.status,
    ago(node.last_activity_at),
    node.cost_usd > 0 ? `$${node.cost_usd.toFixed(2)}` : '',
  ].filter(Boolean)
  const wrong = node.fault ? faultWord(node.fault) : node.attention > 0 ? 'needs you' : null
  return [
    out.paint(colour, glyph),
    brief(node.name, 40),
    out.paint('dim', facts.join('  ')),
    ...(wrong ? [out.paint('red', `! ${wrong}`)] : []),
    out.paint('dim', node.id),
  ].join(' ')
}

/** Nodes under their parents, oldest first; those whose parent is not among them stand at the top. */
export const treeLines = (nodes: readonly RosterEntry[], out: Output): string[] => {
  const known = new Set(nodes.map(({ id }) => id))
  const below = new Map<string | null, RosterEntry[]>()
  for (const node of nodes.toSorted((a, b) => a.created_at.localeCompare(b.created_at))) {
    const parent = node.parent_id !== null && known.has(node.parent_id) ? node.parent_id : null
    below.set(parent, [...(below.get(parent) ?? []), node])
  }
  const lines: string[] = []
  const draw = (node: RosterEntry, first: string, rest: string): void => {
    lines.push(first + nodeLine(node, out))
    const children = below.get(node.id) ?? []
    for (const [at, child] of children.entries()) {
      const last = at === children.length - 1
      draw(child, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`)
    }
  }
  for (const top of below.get(null) ?? []) draw(top, '', '')
  return lines
}
