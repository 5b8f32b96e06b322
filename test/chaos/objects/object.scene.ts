import { waitFor } from '#common/testing/wait-for.js'
import type { Client, ObjectBody } from '#sdk/index.js'

/** Whose events go to a few, inline with what was published. */
export const sources = ['busy', 'calm'] as const
/** Whose events go to so many that a worker carries them out. */
export const crowdSource = 'crowded'
export const crowd = 70

/** Queues that somebody receives, with what they watch. */
export const queues = {
  everything: [{ source: 'busy' }, { source: 'calm' }, { source: crowdSource }],
  some: [{ source: 'busy', events: ['tick', 'call'] }, { source: 'calm' }],
} as const satisfies Record<string, NonNullable<ObjectBody['watches']>>
export type QueueName = keyof typeof queues

/** What the receiver at an address, and the node, watch. */
export const hookWatches = [{ source: 'calm' }, { source: 'busy', events: ['note', 'call'] }] as const
export const nodeEvents = ['call'] as const
export const nodeSource = 'busy'

const payload_schema = {
  type: 'object',
  required: ['tag', 'n', 'text'],
  properties: { tag: { type: 'string' }, n: { type: 'integer' }, text: { type: 'string' } },
  additionalProperties: false,
}

/** What stands for the whole run. */
export interface Scene {
  /** By source: its publish token. */
  readonly tokens: ReadonlyMap<string, string>
  /** By name: the id of the object. */
  readonly ids: ReadonlyMap<string, string>
  readonly hookSecret: string
  readonly node: string
}

/** @param hookUrl where the receiver at an address listens */
export const setScene = async (client: Client, hookUrl: string, cwd: string): Promise<Scene> => {
  const tokens = new Map<string, string>()
  const ids = new Map<string, string>()
  const register = async (body: ObjectBody) => {
    const object = await client.customObjects.register(body)
    ids.set(body.name, object.id)
    return object
  }
  for (const name of [...sources, crowdSource]) {
    const catalog = ['tick', 'note', 'call'].map((event) => ({ event, payload_schema }))
    const { publish_token } = await register({ name, catalog })
    tokens.set(name, publish_token as string)
  }
  for (const [name, watches] of Object.entries(queues))
    await register({ name, receiver: { type: 'queue' }, watches: [...watches] })
  const hook = await register({
    name: 'hook',
    receiver: { type: 'url', url: hookUrl, allow_private: true },
    watches: hookWatches.map(({ source, ...filter }) => ({
      source,
      ...('events' in filter && { events: [...filter.events] }),
    })),
  })
  for (let at = 1; at <= crowd; at += 1)
    await register({ name: `of-the-crowd-${at}`, receiver: { type: 'queue' }, watches: [{ source: crowdSource }] })
  const exec = { argv: ['cat'], stdin: 'text' as const }
  const { id: node } = await client.nodes.create({ name: 'reader', prompt: 'read', cwd, engine: 'exec', exec })
  await waitFor(async () => (await client.nodes.retrieve(node)).status === 'idle', { what: 'the reader at rest' })
  await client.canvas.watches.put({ watcher: node, source: nodeSource, events: [...nodeEvents] })
  return { tokens, ids, hookSecret: hook.signing_secret as string, node }
}
