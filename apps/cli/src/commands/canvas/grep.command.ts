import type { Command } from 'commander'
import type { GrepBody } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { MatchView } from '../../canvas/snippet.view.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'
import { listOf } from './search.command.js'

interface GrepOptions {
  readonly under?: string
  readonly node?: string
  readonly kind?: string
  readonly limit?: number
  readonly context?: number
  readonly after?: string
  readonly all?: boolean
}

const why = {
  limit: 'there are more lines',
  time: 'it stopped after its time, before all was looked at',
  bytes: 'it stopped after its amount of text, before all was looked at',
} as const

export const registerGrep = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'grep <pattern>', {
    calls: ['canvas.history.grep'],
    summary: 'Find lines by a regular expression, newest text first',
    about: 'In either case, in the syntax of RE2.',
    examples: [
      ["svc canvas grep 'ECONN(REFUSED|RESET)'", 'everywhere'],
      ['svc canvas grep deprecated --node <id> --context 2', 'in one node, with the lines around'],
    ],
  })
    .option('--node <id>', 'of this node')
    .option('--under <id>', 'at or below this node')
    .option('--kind <list>', 'user, assistant, reasoning, tool, report, mail: those of them')
    .option('-C, --context <number>', 'lines around each, 0 to 5', wholeNumber)
    .option('--limit <number>', 'lines, 1 to 500', wholeNumber)
    .option('--after <cursor>', 'go on after this cursor')
    .option('--all', 'go on to the end')
  performs<GrepOptions>(made, shell, async ({ client, out, json, options }, pattern) => {
    const { all, kind } = options
    const rest = given(options, 'under', 'node', 'limit', 'context')
    const svc = await client()
    const view = new MatchView(out)
    const body = { pattern, ...rest, ...(kind !== undefined && { kinds: listOf(kind) }) } as GrepBody
    for (let after = options.after; ; ) {
      const found = await svc.canvas.history.grep({ ...body, ...(after && { after }) })
      if (json && !all) return out.json(found)
      for (const match of found.matches) {
        if (json) out.record(match)
        else view.show(match)
      }
      if (found.next_cursor === null) return
      if (!all) return out.note(`${why[found.cut ?? 'limit']}: --after ${found.next_cursor}, or --all`)
      after = found.next_cursor
    }
  })
}
