import type { Command } from 'commander'
import type { Client, RosterEntry } from '#sdk/index.js'
import { type Drawn, followTree, mostDrawn } from '../../canvas/tree.follow.js'
import { treeLines } from '../../canvas/tree.view.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface TreeOptions {
  readonly live?: boolean
  readonly follow?: boolean
  readonly watch?: boolean
}

export const registerTree = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'tree [id]', {
    calls: ['canvas.snapshot'],
    mayCall: ['canvas.events'],
    summary: 'Draw the nodes under their parents',
    about: 'Watched where nothing can be drawn over, as in a pipe, it prints a line for each node that has changed.',
    examples: [
      ['svc canvas tree', 'all of them'],
      ['svc canvas tree <id> --watch', 'a node and those below it, as they change; Ctrl-C ends it'],
      ['svc canvas tree --live', 'only those that are active or idle'],
    ],
  })
    .option('--live', 'only nodes that are active or idle')
    .option('-w, --watch', 'draw it anew as it changes')
    .option('-f, --follow', 'the same')
  performs<TreeOptions>(made, shell, async ({ client, out, json, options }, id) => {
    const svc = await client()
    const collect = () => collected(svc, id, options.live)
    if (options.follow || options.watch) return followTree(svc, out, { under: id, json, collect })
    const { nodes, more } = await collect()
    if (json) for (const node of nodes) out.record(node)
    else for (const line of treeLines(nodes, out)) out.line(line)
    if (more) out.note(`only the newest ${mostDrawn} are shown: name one to see what is below it`)
  })
}

const collected = async (svc: Client, under: string | undefined, live: boolean | undefined): Promise<Drawn> => {
  const nodes: RosterEntry[] = []
  for (let after: string | undefined; ; ) {
    const page = await svc.canvas.snapshot({
      limit: 1000,
      ...(under && { under }),
      ...(live && { live: true }),
      ...(after && { after }),
    })
    nodes.push(...page.nodes)
    if (page.next_cursor === null || nodes.length >= mostDrawn) return { nodes, more: page.next_cursor !== null }
    after = page.next_cursor
  }
}
