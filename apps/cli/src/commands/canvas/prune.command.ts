import type { Command } from 'commander'
import type { PruneAnswer, PruneBody } from '#sdk/index.js'
import { command, performs } from '../../invocation.js'
import { facts } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface PruneOptions {
  readonly olderThan?: string
  readonly status?: string
  readonly delete?: boolean
}

export const registerPrune = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'prune', {
    calls: ['canvas.prune'],
    summary: 'Delete nodes that ended long ago, with all that they said and did',
    about: 'Says what would go unless --delete is given. Nodes that are active or idle, and what they watch, stay.',
    examples: [
      ['svc canvas prune', 'what ended two weeks ago or earlier'],
      ['svc canvas prune --older-than P30D --delete', 'delete what ended a month ago'],
    ],
  })
    .option('--older-than <time>', 'seconds, or a duration like P14D or PT12H')
    .option('--status <list>', 'done, dead, canceled: those of them')
    .option('--delete', 'delete them')
  performs<PruneOptions>(made, shell, async ({ client, out, json, options }) => {
    const { olderThan, status } = options
    const body = {
      dry_run: !options.delete,
      ...(olderThan !== undefined && { older_than: /^\d+$/.test(olderThan) ? Number(olderThan) : olderThan }),
      ...(status !== undefined && { statuses: status.split(',').map((one) => one.trim()) }),
    } as PruneBody
    const svc = await client()
    let sum = await svc.canvas.prune(body, { timeout: 60_000 })
    // it answers after a while with more to do: to go on is to ask again
    for (let left = !sum.complete; left; ) {
      const next = await svc.canvas.prune(body, { timeout: 60_000 })
      left = !next.complete
      sum = added(sum, next)
    }
    if (json) return out.json(sum)
    out.line(
      facts([
        [sum.dry_run ? 'would delete' : 'deleted', `${sum.nodes} nodes that ended before ${sum.ended_before}`],
        ...Object.entries(sum.by_status),
        ['turns', sum.turns],
        ['events', sum.events],
        ['size', `about ${(sum.bytes / 1024 / 1024).toFixed(1)} MiB`],
      ]),
    )
    if (sum.dry_run && sum.nodes > 0) out.note('nothing was deleted: --delete deletes them')
  })
}

const added = (one: PruneAnswer, two: PruneAnswer): PruneAnswer => {
  const by_status = { ...one.by_status }
  for (const [status, nodes] of Object.entries(two.by_status)) by_status[status] = (by_status[status] ?? 0) + nodes
  return {
    ...two,
    by_status,
    nodes: one.nodes + two.nodes,
    events: one.events + two.events,
    turns: one.turns + two.turns,
    bytes: one.bytes + two.bytes,
    sample: [...one.sample, ...two.sample].slice(0, 100),
  }
}
