import { objectLimits, type Watch } from '#common/contract/object.schema.js'
import { actorRefOf } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { hiddenObject } from '../object/object.access.js'
import type { ObjectRecord } from '../object/object.record.js'
import type { ObjectRepository } from '../object/object.repository.js'
import type { ReceiverRepository } from '../object/receiver.repository.js'
import type { HeirRepository } from './heir.repository.js'
import { nodeFilter, objectFilter } from './watch.filter.js'
import type { Party } from './watch.parties.js'
import type { WatchRecord } from './watch.record.js'
import type { WatchRepository } from './watch.repository.js'
import type { Watched, WatchedRepository } from './watched.repository.js'

/** A watch that somebody asks for. */
export interface AskedWatch {
  readonly source: Party
  readonly events: readonly string[] | null
  readonly tier: Watch['tier']
  /** When, before the parties were looked at; as it is made, unless given. */
  readonly at?: Date
}

/** One that is asked for of a node at its end: before all that may be told late of that end, as of its successor. */
const beforeAll = new Date(0)

/** As it is to be written: with whoever is in the place of the source now. */
type Asked = Omit<AskedWatch, 'source'> & { readonly source: Pick<Party, 'kind' | 'id'> }

/** Of a root that was replaced; one that was brought back since is watched itself. */
const ended: ReadonlySet<string> = new Set(['done', 'dead'])

/** Makes one watch others, inside a transaction. */
export class Watching {
  constructor(
    private readonly objects: ObjectRepository,
    private readonly receivers: ReceiverRepository,
    private readonly watches: WatchRepository,
    private readonly watched: WatchedRepository,
    private readonly heirs: HeirRepository,
  ) {}

  /**
   * Locks what is watched, and whoever watches: neither of them is deleted, or loses its receiver, before commit. In place of a
   * root that has given its place to another, that one is watched.
   *
   * @throws SvcError not_found, event_not_declared, validation_failed (events that wake no node), receiver_unfit, quota_exceeded
   */
  async put(
    { tx, actor }: TxContext,
    watcher: Pick<Party, 'kind' | 'id'>,
    given: readonly AskedWatch[],
    at: Date,
  ): Promise<WatchRecord[]> {
    const parties = [...given.map(({ source }) => source), watcher]
    // that of a watcher too: who ends all that a node watches locks it, and takes no receiver from under a new watch
    const nodes = parties.flatMap(({ kind, id }) => (kind === 'node' ? [id] : []))
    if (nodes.length > 0) this.watched.make(tx, nodes)
    const present = await this.watched.lock(
      tx,
      parties.map(({ id }) => id),
    )
    const asked = await Promise.all(given.map((one) => this.#asItIsNow(tx, one)))
    const moved = asked.map(({ source }) => source.id).filter((id) => !parties.some((party) => party.id === id))
    if (moved.length > 0) this.watched.make(tx, moved)
    const locked = moved.length > 0 ? [...present, ...(await this.watched.lock(tx, moved))] : present
    if (watcher.kind === 'node' && asked.some(({ source }) => source.id === watcher.id)) throw itself()
    const found = await this.objects.all(
      tx,
      parties.flatMap(({ kind, id }) => (kind === 'object' ? [id] : [])),
    )
    if (watcher.kind === 'node') this.receivers.makeNode(tx, watcher.id)
    else requireReceiver(objectOf(found, watcher.id))
    const filters = asked.map(({ source, events, tier }) =>
      source.kind === 'node'
        ? nodeFilter(events, { wakes: watcher.kind === 'node' && tier !== 'deferred' })
        : objectFilter(objectOf(found, source.id), events),
    )
    await this.#requireRoom({ tx, watcher: watcher.id, sources: new Map(locked.map((row) => [row.id, row])) }, asked)
    const rows: WatchRecord[] = []
    for (const [index, { source, tier, at: asked_at = at }] of asked.entries()) {
      const ends = { source_id: source.id, watcher_id: watcher.id }
      const row = { ...ends, events: filters[index] as string[], tier, created_by: actorRefOf(actor), created_at: at }
      rows.push(await this.watches.put(tx, { ...row, asked_at }))
    }
    return rows
  }

  /** A root at its end may have a successor. While none is known, the watch goes over to it when it is. */
  async #asItIsNow(tx: Tx, one: AskedWatch): Promise<Asked> {
    const { source } = one
    if (source.kind !== 'node' || !ended.has(source.node.status)) return one
    const id = await this.heirs.lastOf(tx, source.id)
    return id === source.id ? { ...one, at: beforeAll } : { ...one, source: { kind: 'node', id } }
  }

  async #requireRoom(
    { tx, watcher, sources }: { tx: TxContext['tx']; watcher: string; sources: ReadonlyMap<string, Watched> },
    asked: readonly Asked[],
  ): Promise<void> {
    const present = new Set((await this.watches.ofWatcher(tx, watcher)).map(({ source_id }) => source_id))
    const added = [...new Set(asked.map(({ source }) => source.id))].filter((id) => !present.has(id))
    if (present.size + added.length > objectLimits.watched)
      throw full('watched', `One watches at most ${objectLimits.watched} others.`, objectLimits.watched)
    if (added.some((id) => (sources.get(id)?.watchers ?? 0) >= objectLimits.watchers))
      throw full('watchers', `At most ${objectLimits.watchers} watch the same one.`, objectLimits.watchers)
  }
}

/** A node would watch itself. */
export const itself = (): SvcError => {
  const message = 'must be another one: a node knows what it does itself'
  return new SvcError('validation_failed', undefined, { errors: [{ pointer: '/source', message }] })
}

const full = (limit: string, message: string, max: number): SvcError =>
  new SvcError('quota_exceeded', message, { limit, max })

const objectOf = (found: ReadonlyMap<string, ObjectRecord>, id: string): ObjectRecord => {
  const object = found.get(id)
  if (!object) throw hiddenObject(id)
  return object
}

const requireReceiver = ({ id, name, receiver }: ObjectRecord): void => {
  if (receiver !== null) return
  const message = `The object ${name} has no receiver, by which events would reach it.`
  throw new SvcError('receiver_unfit', message, { resource: 'object', id })
}
