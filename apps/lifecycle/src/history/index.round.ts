import { indexedTextsOf } from './entry.text.js'
import type { Deeds, IndexedNode, JournalText, MailText, ReportText, UsageEvent } from './index.repository.js'
import { type NewPassage, piecesOf } from './passage.js'

/** What was found for some nodes after the positions where they were. */
export interface Found {
  readonly journal: readonly JournalText[]
  readonly mail: readonly MailText[]
  readonly reports: readonly ReportText[]
  readonly usage: readonly UsageEvent[]
}

export interface Round {
  readonly passages: readonly NewPassage[]
  readonly deeds: readonly Deeds[]
  /** The nodes where they are now. */
  readonly nodes: readonly IndexedNode[]
}

type Source = Omit<NewPassage, 'line' | 'body'>

const cut = (source: Source, text: string): NewPassage[] => piecesOf(text).map((piece) => ({ ...source, ...piece }))

const fromJournal = (row: JournalText): NewPassage[] =>
  indexedTextsOf(row.payload).flatMap(({ kind, label, text }, piece) =>
    cut(
      {
        nodeId: row.node_id,
        kind,
        ref: row.ord,
        piece,
        turn: row.turn,
        step: row.step,
        label,
        at: row.created_at,
      },
      text,
    ),
  )

const fromMail = (row: MailText): NewPassage[] => {
  const label = row.source.name ?? row.source.id ?? row.source.kind
  const source = { nodeId: row.node_id, kind: 'mail', ref: row.seq, piece: 0, turn: row.turn, step: null } as const
  // a report that was passed on is found where it was given
  return row.kind === 'report' ? [] : cut({ ...source, label, at: row.created_at }, row.body)
}

const fromReport = (row: ReportText): NewPassage[] =>
  cut(
    {
      nodeId: row.node_id,
      kind: 'report',
      ref: row.ord,
      piece: 0,
      turn: null,
      step: null,
      label: row.kind,
      at: row.created_at,
    },
    row.body,
  )

const nothing = { turns: 0, calls: 0, input: 0, output: 0, cached: 0, cost: 0 }

/** What is to be written for what was found; the same whenever it is asked again. */
export const roundOf = (held: readonly IndexedNode[], found: Found, isFull: (rows: number) => boolean): Round => {
  const nodes = new Map(held.map((node) => [node.id, { ...node }]))
  const deeds = new Map<string, Deeds>()
  const deedsOf = (node: IndexedNode, at: Date, model: string): Deeds => {
    const day = at.toISOString().slice(0, 10)
    const key = `${node.id} ${day} ${model}`
    const known = deeds.get(key) ?? { node, day, model, ...nothing }
    deeds.set(key, known)
    return known
  }
  for (const row of found.journal) {
    const node = nodes.get(row.node_id)
    if (!node) continue
    node.journal_ord = row.ord
    if (row.ord <= node.counted_ord) continue
    node.counted_ord = row.ord
    const entry = row.payload
    if (entry.type === 'turn_started') node.turn_model = null
    if (entry.type === 'message' && entry.model !== undefined) node.turn_model = entry.model
    if (entry.type === 'turn_ended') deedsOf(node, row.created_at, node.turn_model ?? '').turns += 1
  }
  for (const row of found.mail) Object.assign(nodes.get(row.node_id) ?? {}, { mail_seq: row.seq })
  for (const row of found.reports) Object.assign(nodes.get(row.node_id) ?? {}, { report_ord: row.ord })
  // while there are reports there may be more of them, and only the events tell that to who comes after a crash
  const settled = found.reports.length === 0
  countUsage(nodes, found.usage, deedsOf, (rows) => !settled || isFull(rows))
  return {
    passages: [
      ...found.mail.flatMap(fromMail),
      ...found.journal.flatMap(fromJournal),
      ...found.reports.flatMap(fromReport),
    ].sort((a, b) => a.at.getTime() - b.at.getTime()),
    deeds: [...deeds.values()],
    nodes: [...nodes.values()],
  }
}

const countUsage = (
  nodes: Map<string, { -readonly [Field in keyof IndexedNode]: IndexedNode[Field] }>,
  events: readonly UsageEvent[],
  deedsOf: (node: IndexedNode, at: Date, model: string) => Deeds,
  isFull: (rows: number) => boolean,
): void => {
  const counted = new Map<string, number>()
  for (const event of events) {
    const node = nodes.get(event.node_id)
    if (!node) continue
    counted.set(node.id, (counted.get(node.id) ?? 0) + 1)
    node.event_seq = event.seq
    const deed = deedsOf(node, event.time, event.data.model ?? '')
    deed.calls += 1
    deed.input += event.data.input_tokens ?? 0
    deed.output += event.data.output_tokens ?? 0
    deed.cached += event.data.cached_tokens ?? 0
    deed.cost += event.data.cost_usd ?? 0
  }
  for (const node of nodes.values()) if (!isFull(counted.get(node.id) ?? 0)) node.event_seq = node.head_event
}
