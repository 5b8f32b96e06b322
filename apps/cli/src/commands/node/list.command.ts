import type { Command } from 'commander'
import type { Node, NodesListQuery } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface ListOptions extends Omit<NodesListQuery, 'limit'> {
  readonly limit?: number
  readonly all?: boolean
}

export const registerList = (node: Command, shell: Shell): void => {
  const made = command(node, 'list', {
    calls: ['nodes.list'],
    summary: 'List nodes, newest first',
    examples: [
      ['svc node list --status active', 'those at work'],
      ['svc node list --under <id>', 'a node and all below it'],
      ['svc node list --hanging', 'those that may need you'],
      ['svc node list --all --json', 'every node, one record a line'],
    ],
  })
    .option('--status <status>', 'active, idle, done, dead or canceled')
    .option('--kind <kind>', 'of this role')
    .option('--mode <mode>', 'base or orchestrator')
    .option('--lifecycle <lifecycle>', 'terminal or resident')
    .option('--cwd <directory>', 'working in this directory')
    .option('--under <id>', 'at or below this node')
    .option('--app <id>', 'of this application')
    .option('--hanging', 'that hang: nothing comes of them, and they wait for nothing')
    .option('--text <text>', 'with this in the name or description')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<ListOptions>(made, shell, async ({ client, out, json, options }) => {
    const { all, status, kind, mode, lifecycle, cwd, under, app, hanging, text, after, limit } = options
    const nodes = (await client()).nodes.list({
      status,
      kind,
      mode,
      lifecycle,
      cwd,
      under,
      app,
      hanging,
      text,
      after,
      limit,
    } as NodesListQuery)
    if (json && all) for await (const one of nodes) out.record(one)
    else if (json) out.json(await nodes.page)
    else if (all) out.line(tableOf(await everyOne(nodes)))
    else {
      const { data, has_more } = await nodes.page
      out.line(tableOf(data))
      if (has_more) out.note('there are more: --all lists every one')
    }
  })
}

const tableOf = (nodes: readonly Node[]): string =>
  table(
    ['ID', 'STATUS', 'KIND', 'ENGINE', 'AGE', 'WORKTREE', 'NAME'],
    nodes.map((node) => [
      node.id,
      node.fault ? `${node.status} (${node.fault.kind})` : node.status,
      node.kind,
      node.engine,
      ago(node.created_at),
      node.worktree ? node.worktree.state : '',
      brief(node.name),
    ]),
  )

const everyOne = async (nodes: AsyncIterable<Node>): Promise<Node[]> => {
  const found: Node[] = []
  for await (const one of nodes) found.push(one)
  return found
}
