import type { Command } from 'commander'
import type { Client } from '#sdk/index.js'
import { timeOf } from '../clock.js'
import { UsageError } from '../failure.js'
import type { Invocation } from '../invocation.js'
import type { Output } from '../output/output.js'
import { feedLine } from './feed.line.js'
import { NodeNames } from './node.names.js'

export interface FeedFlags {
  readonly types?: string
  readonly under?: string
  readonly since?: string
  readonly after?: string
}

export const addFeedFlags = (made: Command): Command =>
  made
    .option('--types <list>', 'only these kinds of events, between commas; `node.*` is all that begin so')
    .option('--under <id>', 'only the nodes at or below this one')
    .option('--since <time>', 'begin so long ago (30s, 10m, 2h, 1d), or at this time')
    .option('--after <position>', 'go on after a position, as the stream of events gives them')

/** Shows what all nodes do as it happens. Ends with Ctrl-C. @throws UsageError */
export const followFeed = async ({ client, out, json, options }: Invocation<FeedFlags>): Promise<void> => {
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
  const events = svc.canvas.events(
    { ...query, ...(since && { since }) },
    { signal: leave.signal, maxRetries: Number.POSITIVE_INFINITY, ...(after && { after }) },
  )
  try {
    await show(svc, events, out, json)
  } catch (error) {
    if (!leave.signal.aborted) throw error
    process.exit(130)
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}

const show = async (
  svc: Client,
  events: ReturnType<Client['canvas']['events']>,
  out: Output,
  json: boolean,
): Promise<void> => {
  const names = new NodeNames(svc)
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
}
