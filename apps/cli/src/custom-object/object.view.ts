import type { CustomObject, Receiver, Watch } from '#sdk/index.js'
import { ago } from '../clock.js'
import { unstyled } from '../output/output.js'
import { brief, facts, table } from '../output/table.js'

/** How what it watches reaches it, in one line. */
export const receiverText = (receiver: Receiver | null): string => {
  switch (receiver?.type) {
    case undefined:
      return '-'
    case 'queue':
      return 'queue'
    case 'url':
      return `url ${receiver.url}${receiver.allow_private ? ' (private addresses allowed)' : ''}`
    case 'argv':
      return `run ${receiver.argv.join(' ')}`
  }
}

const pauses = {
  asked: 'paused',
  gone: 'paused by itself: the address answered 410 (gone)',
  dead: 'paused by itself: a delivery ran out of tries',
} as const

const statusText = ({ name, receiver_state }: CustomObject): string | null => {
  if (receiver_state === null) return null
  const { status, reason } = receiver_state
  return status === 'active' ? 'active' : `${pauses[reason ?? 'asked']}; svc custom-object resume ${name} goes on`
}

const waitingText = ({ receiver, receiver_state }: CustomObject): string | null => {
  if (receiver === null || receiver_state === null) return null
  const { pending, failed, dead } = receiver_state
  const tried = [...(failed ? [`${failed} to be tried again`] : []), ...(dead ? [`${dead} given up`] : [])]
  return `${pending} of at most ${receiver.max_pending}${tried.length ? ` (${tried.join(', ')})` : ''}`
}

/** What a receiver is now, in one line. */
export const waitingLine = ({ name, receiver_state }: CustomObject): string => {
  if (receiver_state === null) return `${name}  has no receiver`
  const { status, pending } = receiver_state
  return `${name}  ${status}: ${pending === 1 ? '1 delivery waits' : `${pending} deliveries wait`}`
}

export const objectTable = (objects: readonly CustomObject[]): string =>
  table(
    ['NAME', 'ID', 'EVENTS', 'WATCHERS', 'PUBLISHED', 'WAITING', 'RECEIVER'],
    objects.map(({ name, id, catalog, watchers, published, receiver, receiver_state }) => [
      name,
      id,
      `${catalog.length}`,
      `${watchers}`,
      `${published}`,
      receiver_state === null
        ? '-'
        : `${receiver_state.pending}${receiver_state.status === 'paused' ? ' (paused)' : ''}`,
      brief(receiverText(receiver), 60),
    ]),
  )

/** What an object is. Its descriptions were written by others, and are no more than text. */
export const objectText = (object: CustomObject): string => {
  const { receiver, catalog } = object
  const text = facts([
    ['id', object.id],
    ['name', object.name],
    ['description', indented(unstyled(object.description))],
    ['receiver', receiver && receiverText(receiver)],
    ['directory', receiver?.type === 'argv' ? receiver.cwd : null],
    ['status', statusText(object)],
    ['waiting', waitingText(object)],
    ['watchers', object.watchers],
    ['published', object.published],
    ['app', object.app_id],
    ['created', `${object.created_at} (${ago(object.created_at)} ago)`],
    ['updated', `${object.updated_at} (${ago(object.updated_at)} ago), version ${object.version}`],
  ])
  return catalog.length ? `${text}\n\n${catalogTable(object)}` : text
}

/** Further lines of a text stand below its first one, and are not taken for other facts. */
const indented = (text: string): string => text.replace(/\r\n?|\n/g, `\n${' '.repeat('description  '.length)}`)

const catalogTable = ({ catalog }: CustomObject): string =>
  table(
    ['EVENT', 'PAYLOAD', 'DESCRIPTION'],
    catalog.map(({ event, payload_schema, description }) => [
      event,
      payloadText(payload_schema),
      brief(unstyled(description), 80),
    ]),
  )

/** What a payload is, in a few words: `{id, log?}`. */
const payloadText = (schema: Readonly<Record<string, unknown>>): string => {
  const { type, properties, required } = schema as {
    type?: unknown
    properties?: Record<string, unknown>
    required?: readonly string[]
  }
  if (properties && typeof properties === 'object') {
    const fields = Object.keys(properties).map((name) => (required?.includes(name) ? name : `${name}?`))
    return brief(`{${fields.join(', ')}}`, 50)
  }
  return typeof type === 'string' ? type : 'any'
}

export const watchText = ({ watcher, watcher_name, source, source_name, events, tier }: Watch): string =>
  `${named(watcher, watcher_name)}  watches ${named(source, source_name)}: ${events?.join(', ') ?? 'each event'}${watcher.startsWith('node_') ? ` (${tier})` : ''}`

export const named = (id: string, name: string | null): string => (name === null ? id : `${name} (${id})`)

/** Rows of watches, seen from one side. */
export const watchRows = (watches: readonly Watch[], side: 'watches' | 'watched by'): string[][] =>
  watches.map(({ watcher, watcher_name, source, source_name, events, tier, created_at }) => [
    side,
    side === 'watches' ? named(source, source_name) : named(watcher, watcher_name),
    brief(events?.join(', ') ?? 'each event', 60),
    watcher.startsWith('node_') ? tier : '-',
    `${ago(created_at)} ago`,
  ])
