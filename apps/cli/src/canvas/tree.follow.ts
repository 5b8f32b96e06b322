import type { Client, RosterEntry } from '#sdk/index.js'
import { every, monotonic, pause, present } from '../clock.js'
import type { Output } from '../output/output.js'
import { nodeLine, treeLines } from './tree.view.js'

/** Nodes of one drawing. */
export const mostDrawn = 5000
/** It is drawn at most this often (ms), and so often although nothing happened, since ages grow. */
const gather = 200
const anew = 10_000

export interface Drawn {
  readonly nodes: RosterEntry[]
  readonly more: boolean
}

export interface TreeFollowed {
  readonly under?: string | undefined
  readonly json: boolean
  collect(): Promise<Drawn>
}

/** What a line of a screen that does not move says: what a node is at. */
const stateOf = (node: RosterEntry): string =>
  JSON.stringify([node.status, node.streaming, node.fault, node.attention > 0, node.name])

/** Draws the tree as it changes: the daemon's events say when. Ends with Ctrl-C. */
export const followTree = async (
  client: Client,
  out: Output,
  { under, json, collect }: TreeFollowed,
): Promise<void> => {
  const wanted = under ? { under } : {}
  const leave = new AbortController()
  const moves = out.isTerminal && !json
  let changed = Promise.withResolvers<void>()
  if (moves) every(anew, () => changed.resolve())
  // what happens between the first look and the first event is not to be missed
  const { next_cursor: after } = await client.canvas.events({ ...wanted, since: present(), limit: 1 }).recorded().page
  const listen = async (): Promise<void> => {
    const options = { signal: leave.signal, maxRetries: Number.POSITIVE_INFINITY, ...(after !== null && { after }) }
    for await (const _ of client.canvas.events(wanted, options)) changed.resolve()
  }
  const broken = listen()
  broken.catch(() => undefined) // thrown where it is waited for
  const states = new Map<string, string>()
  try {
    for (;;) {
      changed = Promise.withResolvers<void>()
      const began = monotonic()
      const { nodes } = await collect()
      if (moves) out.frame(treeLines(nodes, out))
      else showChanges(nodes, states, out, json)
      // a large canvas is not asked for all the time
      await pause(Math.max(gather, 4 * (monotonic() - began)))
      await Promise.race([changed.promise, broken])
    }
  } finally {
    leave.abort()
  }
}

/** Where nothing can be drawn over, or each line is a record: the whole first, then what has changed. */
const showChanges = (nodes: readonly RosterEntry[], states: Map<string, string>, out: Output, json: boolean): void => {
  const first = states.size === 0
  const fresh = nodes.filter((node) => states.get(node.id) !== stateOf(node))
  for (const node of nodes) states.set(node.id, stateOf(node))
  if (json) for (const node of fresh) out.record(node)
  else if (first) for (const line of treeLines(nodes, out)) out.line(line)
  else for (const node of fresh) out.line(nodeLine(node, out))
}
