import type { Command } from 'commander'
import { timeOf } from '../clock.js'
import { UsageError } from '../failure.js'
import { feedLine } from '../feed/feed.line.js'
import { NodeNames } from '../feed/node.names.js'
import { command, performs } from '../invocation.js'
import type { Shell } from '../shell.js'

interface FeedOptions {
  readonly types?: string
  readonly under?: string
  readonly since?: string
  readonly after?: string
}

export const registerFeed = (program: Command, shell: Shell): void => {
  const made = command(program, 'feed', {
    calls: ['canvas.events'],
    mayCall: ['nodes.retrieve'],
    summary: 'What all nodes do, as it happens',
    about: 'It waits out a daemon that restarts, and leaves nothing out. Ctrl-C ends it.',
    examples: [
      ['svc feed', 'from now on'],
      ['svc feed --since 1h --types report.*,node.dead', 'reports and failures of the last hour, and what comes'],
      ['svc feed --under <id> --json', 'a node and those below it, one event a line'],
    ],
  })
    .option('--types <list>', 'only these kinds of events, between commas; `node.*` is all that begin so')
    .option('--under <id>', 'only the nodes at or below this one')
    .option('--since <time>', 'begin so long ago (30s, 10m, 2h, 1d), or at this time')
    .option('--after <position>', 'go on after a position, as the stream of events gives them')
  performs<FeedOptions>(made, shell, async ({ client, out, json, options }) => {
    const { types, under, after } = options
    const since = options.since === undefined ? undefined : timeOf(options.since)
    if (options.since !== undefined && since === undefined) {
      throw new UsageError(
        `${options.since} is no time`,
        'say how long ago: 30s, 10m, 2h, 1d; or a time: 2026-01-31T12:00:00Z',
      )
    }
    const svc = await client()
    const query = { ...(types && { types }), ...(under && { under }) }
    // whether it can be followed at all is known before it is waited for
    await svc.canvas.events({ ...query, limit: 1, ...(after && { after }) }).recorded().page
    const leave = new AbortController()
    const onInterrupt = () => leave.abort()
    process.once('SIGINT', onInterrupt)
    const names = new NodeNames(svc)
    const events = svc.canvas.events(
      { ...query, ...(since && { since }) },
      { signal: leave.signal, maxRetries: Number.POSITIVE_INFINITY, ...(after && { after }) },
    )
    try {
      for await (const event of events) {
        if (json) {
          out.record(event)
          continue
        }
        if (event.type === 'node.created') names.learn(event.subject, String(event.data.name))
        const others = [event.data.parent_id, event.data.node_id, event.data.child_id].filter(
          (id) => typeof id === 'string',
        )
        const known = new Map(await Promise.all(others.map(async (id) => [id, await names.of(id)] as const)))
        out.line(feedLine(event, await names.of(event.subject), out, (id) => known.get(id) ?? id))
      }
    } catch (error) {
      if (!leave.signal.aborted) throw error
      process.exit(130)
    } finally {
      process.off('SIGINT', onInterrupt)
    }
  })
}
