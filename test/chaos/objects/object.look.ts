import type { AdminConnection } from '#common/testing/admin-connection.js'
import type { Client } from '#sdk/index.js'
import type { HookReceiver } from './hook.receiver.js'
import type { Accepted } from './object.publisher.js'
import { hookWatches, nodeEvents, nodeSource, type QueueName, queues, type Scene } from './object.scene.js'
import type { QueueConsumer } from './queue.consumer.js'

interface Watched {
  readonly source: string
  readonly events?: readonly string[]
}

/** Those of the accepted events that a watcher is owed. */
export const owed = (accepted: readonly Accepted[], watches: readonly Watched[]): Accepted[] =>
  accepted.filter(({ source, event }) =>
    watches.some((watch) => watch.source === source && (watch.events?.includes(event) ?? true)),
  )

const few = 5
const listed = (values: readonly string[]): string =>
  `${values.length}: ${values.slice(0, few).join(', ')}${values.length > few ? ' …' : ''}`

/** What of two lists is in one of them alone. */
const compared = (what: string, wanted: readonly string[], found: readonly string[]): string[] => {
  const [want, have] = [new Set(wanted), new Set(found)]
  const missing = wanted.filter((one) => !have.has(one))
  const more = found.filter((one) => !want.has(one))
  return [
    ...(missing.length ? [`${what} lacks ${listed(missing)}`] : []),
    ...(more.length ? [`${what} has what nobody was told of, ${listed(more)}`] : []),
  ]
}

/** The events that are there are those that clients were told of, each once, where they were told. */
export const eventsAsTold = async (
  database: AdminConnection,
  { ids }: Scene,
  accepted: readonly Accepted[],
): Promise<string[]> => {
  const names = new Map([...ids].map(([name, id]) => [id, name]))
  const rows = await database.rows<{ source_id: string; seq: number; event: string; tag: string }>(
    `SELECT source_id, seq::int, event, payload->>'tag' AS tag FROM objects.events WHERE source_id = ANY ($1)`,
    [[...ids.values()]],
  )
  const text = (source: string | undefined, seq: number, event: string, tag: string) =>
    `${tag} (${event}) as ${seq} of ${source}`
  return compared(
    'the log of events',
    accepted.map(({ source, seq, event, tag }) => text(source, seq, event, tag)),
    rows.map(({ source_id, seq, event, tag }) => text(names.get(source_id), seq, event, tag)),
  )
}

/** Each came, and for the first time in the order of its source. */
export const receivedInOrder = (
  queue: QueueName,
  { arrivals }: QueueConsumer,
  accepted: readonly Accepted[],
): string[] => {
  const wanted = owed(accepted, queues[queue])
  const seqs = new Map(accepted.map(({ id, seq }) => [id, seq]))
  const last = new Map<string, number>()
  const found: string[] = []
  for (const { source, event_id, tag } of arrivals) {
    const seq = seqs.get(event_id) ?? 0
    const before = last.get(source) ?? 0
    if (seq <= before) found.push(`${queue}: ${tag} (${seq} of ${source}) came first after ${before}`)
    last.set(source, seq)
  }
  const text = (tag: string, id: string) => `${tag} as ${id}`
  return [
    ...found.slice(0, few),
    ...compared(
      queue,
      wanted.map(({ tag, id }) => text(tag, id)),
      arrivals.map(({ tag, event_id }) => text(tag, event_id)),
    ),
  ]
}

export const sentToAddress = ({ accepted: got }: HookReceiver, accepted: readonly Accepted[]): string[] =>
  compared('the receiver at an address', tagsOf(owed(accepted, hookWatches)), [...got])

export const mailOfNode = async (
  database: AdminConnection,
  { node }: Scene,
  accepted: readonly Accepted[],
): Promise<string[]> => {
  const rows = await database.rows<{ tag: string | null }>(
    `SELECT substring(body from '"tag": "([^"]+)"') AS tag FROM canvas.mail WHERE node_id = $1 AND kind = 'event'`,
    [node],
  )
  const found = rows.map(({ tag }) => tag ?? 'mail without a tag')
  return compared('the mail of the node', tagsOf(owed(accepted, [{ source: nodeSource, events: nodeEvents }])), found)
}

const tagsOf = (events: readonly Accepted[]): string[] => events.map(({ tag }) => tag)

/** What the API says of everything at rest. */
export const told = async ({ customObjects }: Client, accepted: readonly Accepted[]): Promise<string[]> => {
  const rest = { status: 'active', pending: 0, failed: 0, dead: 0 }
  const states = [...Object.keys(queues), 'hook'].map(async (name) => {
    const { receiver_state: state } = await customObjects.retrieve(name)
    const said = state && { status: state.status, pending: state.pending, failed: state.failed, dead: state.dead }
    return JSON.stringify(said) === JSON.stringify(rest) ? [] : [`${name} is said to be ${JSON.stringify(said)}`]
  })
  const counts = [...new Set(accepted.map(({ source }) => source))].map(async (name) => {
    const { published } = await customObjects.retrieve(name)
    const count = accepted.filter(({ source }) => source === name).length
    return published === count ? [] : [`${name} is said to have published ${published}, not ${count}`]
  })
  return (await Promise.all([...states, ...counts])).flat()
}
