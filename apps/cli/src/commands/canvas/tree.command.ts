import type { Command } from 'commander'
import type { Client, RosterEntry } from '#sdk/index.js'
import { treeLines } from '../../canvas/tree.view.js'
import { pause } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface TreeOptions {
  readonly live?: boolean
  readonly follow?: boolean
}

/** Nodes of one drawing, and how often (ms) it is drawn anew. */
const most = 5000
const every = 1000

export const registerTree = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'tree [id]', {
    summary: 'Draw the nodes under their parents',
    examples: [
      ['svc canvas tree', 'all of them'],
      ['svc canvas tree <id> --follow', 'a node and those below it, as they change; Ctrl-C ends it'],
      ['svc canvas tree --live', 'only those that are active or idle'],
    ],
  })
    .option('--live', 'only nodes that are active or idle')
    .option('-f, --follow', 'draw it anew as it changes')
  performs<TreeOptions>(made, shell, async ({ client, out, json, options }, id) => {
    const svc = await client()
    for (;;) {
      const { nodes, more } = await collect(svc, id, options.live)
      if (json) for (const node of nodes) out.record(node)
      else if (options.follow && out.isTerminal) out.frame(treeLines(nodes, out))
      else for (const line of treeLines(nodes, out)) out.line(line)
      if (more) out.note(`only the newest ${most} are shown: name one to see what is below it`)
      if (!options.follow) return
      await pause(every)
    }
  })
}

const collect = async (
  svc: Client,
  under: string | undefined,
  live: boolean | undefined,
): Promise<{ nodes: RosterEntry[]; more: boolean }> => {
  const nodes: RosterEntry[] = []
  for (let after: string | undefined; ; ) {
    const page = await svc.canvas.snapshot({
      limit: 1000,
      ...(under && { under }),
      ...(live && { live: true }),
      ...(after && { after }),
    })
    nodes.push(...page.nodes)
    if (page.next_cursor === null || nodes.length >= most) return { nodes, more: page.next_cursor !== null }
    after = page.next_cursor
  }
}
