import type { Command } from 'commander'
import type { CanvasRosterQuery, RosterEntry } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { ago } from '../../clock.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { faultWord } from '../../node/fault.text.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface RosterOptions extends CanvasRosterQuery {
  readonly all?: boolean
}

export const registerRoster = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'roster', { calls: ['canvas.roster'], summary: 'One line a node, newest first' })
    .option('--under <id>', 'at or below this node')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<RosterOptions>(made, shell, async ({ client, out, json, options }) => {
    const { all } = options
    const list = (await client()).canvas.roster(given(options, 'under', 'after', 'limit'))
    if (json && all) {
      for await (const one of list) out.record(one)
      return
    }
    const page = await list.page
    if (json) return out.json(page)
    const entries: RosterEntry[] = []
    if (all) for await (const one of list) entries.push(one)
    out.line(tableOf(all ? entries : page.data))
    if (!all && page.has_more) out.note('there are more: --all lists every one')
  })
}

const statusOf = ({ status, fault, attention }: RosterEntry): string => {
  const wrong = fault ? faultWord(fault) : attention > 0 ? 'needs you' : null
  return wrong ? `${status} (${wrong})` : status
}

const tableOf = (entries: readonly RosterEntry[]): string =>
  table(
    ['ID', 'STATUS', 'KIND', 'MODEL', 'CHILDREN', 'LAST', 'AGE', 'COST', 'NAME'],
    entries.map((entry) => [
      entry.id,
      statusOf(entry),
      entry.kind,
      entry.model ?? '-',
      String(entry.children),
      ago(entry.last_activity_at),
      ago(entry.created_at),
      `$${entry.cost_usd.toFixed(2)}`,
      brief(entry.name),
    ]),
  )
