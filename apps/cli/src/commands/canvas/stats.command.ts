import type { Command } from 'commander'
import type { HistoryStats, StatsBody } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { command, performs } from '../../invocation.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface StatsOptions {
  readonly by?: string
  readonly under?: string
  readonly since?: string
  readonly until?: string
}

export const registerStats = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'stats', {
    calls: ['canvas.history.stats'],
    summary: 'Turns, tokens and cost, by day, model, application or kind',
    examples: [['svc canvas stats --by model --since 2026-01-01', 'what each model cost this year']],
  })
    .option('--by <what>', 'day, model, app or kind')
    .option('--under <id>', 'at or below this node')
    .option('--since <day>', 'from this day on (UTC)')
    .option('--until <day>', 'up to this day, which is counted')
  performs<StatsOptions>(made, shell, async ({ client, out, json, options }) => {
    const { since, until } = options
    const rest = given(options, 'by', 'under')
    const body = {
      ...rest,
      ...(since && { since: timeOf(since) }),
      ...(until && { until: timeOf(until) }),
    } as StatsBody
    const found = await (await client()).canvas.history.stats(body)
    if (json) return out.json(found)
    const rows = found.groups.map((group) => rowOf(group.key ?? 'none', group))
    out.line(table([(options.by ?? '').toUpperCase(), ...headings], [...rows, rowOf('all', found.total)]))
    if (found.truncated) out.note('there are more groups than these')
  })
}

const headings = ['NODES', 'TURNS', 'CALLS', 'IN', 'OUT', 'CACHED', 'COST']

const rowOf = (name: string, figures: HistoryStats['total']): string[] => [
  name,
  ...[
    figures.nodes,
    figures.turns,
    figures.calls,
    figures.input_tokens,
    figures.output_tokens,
    figures.cached_tokens,
  ].map(String),
  `$${figures.cost_usd.toFixed(4)}`,
]

/** A day, or a whole time. */
const timeOf = (text: string): string => (/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00.000Z` : text)
