import type { Command } from 'commander'
import type { CanvasSnapshotQuery } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { facts } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerSnapshot = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'snapshot', {
    calls: ['canvas.snapshot'],
    summary: 'The canvas as it stands: how many nodes there are; with --json nodes and edges',
  })
    .option('--under <id>', 'at or below this node')
    .option('--live', 'only nodes that are active or idle')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'nodes a page, 1 to 1000', wholeNumber)
  performs<CanvasSnapshotQuery>(made, shell, async ({ client, out, json, options }) => {
    const found = await (await client()).canvas.snapshot(given(options, 'under', 'after', 'limit', 'live'))
    if (json) return out.json(found)
    out.line(
      facts([['nodes', found.totals.nodes], ...Object.entries(found.totals.by_status), ['at', found.generated_at]]),
    )
  })
}
