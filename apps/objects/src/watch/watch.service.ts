import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Watch } from '#common/contract/object.schema.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import type { ObjectRepository } from '../object/object.repository.js'
import type { Party, WatchParties } from './watch.parties.js'
import { toWatch, type WatchRecord } from './watch.record.js'
import type { WatchPosition, WatchRepository } from './watch.repository.js'
import type { WatchedRepository } from './watched.repository.js'
import { itself, type Watching } from './watching.js'

const list = contract['canvas.watches.list']
const put = contract['canvas.watches.put']
const remove = contract['canvas.watches.delete']

/** Who watches what, as the owner and nodes arrange it. */
export class WatchService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly watches: WatchRepository,
    private readonly watched: WatchedRepository,
    private readonly parties: WatchParties,
    private readonly watching: Watching,
    private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, validation_failed (a cursor that is none; neither watcher nor source, of one who is not the owner) */
  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const { watcher, source, limit } = input
    if (ctx.actor.kind !== 'owner' && watcher === undefined && source === undefined) throw unnamed()
    const [watcherId, sourceId] = await Promise.all(
      [watcher, source].map((ref) => (ref === undefined ? undefined : this.parties.seen(ctx, ref))),
    )
    const before = positionOf(input.after)
    const rows = await this.watches.page(this.database, { watcherId, sourceId, before, limit: limit + 1 })
    const page = pageOf(rows, limit, (row) => cursorAfter(row.created_at, `${row.source_id}:${row.watcher_id}`))
    return { ...page, data: await this.#shown(this.database, page.data) }
  }

  /**
   * @throws SvcError not_found, owner_required, illegal_transition (a node that takes no mail any more), receiver_unfit,
   * event_not_declared, quota_exceeded, validation_failed (a node that would watch itself)
   */
  async put(ctx: Context, { watcher: by, source: of, events, tier }: InputOf<typeof put>): Promise<Watch> {
    const asked = new Date(this.clock.now())
    const watcher = await this.parties.watcher(ctx, by)
    const source = await this.parties.source(ctx, of, watcher)
    requireAwake(watcher)
    if (watcher.kind === 'node' && watcher.id === source.id) throw itself()
    return this.writer.transact(ctx, async (within) => {
      const at = new Date(this.clock.now())
      const rows = await this.watching.put(within, watcher, [{ source, events, tier, at: asked }], at)
      return (await this.#shown(within.tx, rows))[0] as Watch
    })
  }

  /** @throws SvcError not_found, owner_required */
  async delete(ctx: Context, { watcher, source }: InputOf<typeof remove>): Promise<OutputOf<typeof remove>> {
    const watcherId = await this.parties.ending(ctx, watcher)
    const sourceId = await this.parties.watched(source)
    const removed = sourceId !== undefined && (await this.#end(ctx, { source_id: sourceId, watcher_id: watcherId }))
    // whoever never watched it is told no more than that it is not to be seen
    if (!removed) await this.parties.seen(ctx, source)
    return { removed }
  }

  #end(ctx: Context, ends: Pick<WatchRecord, 'source_id' | 'watcher_id'>): Promise<boolean> {
    return this.writer.transact(ctx, async ({ tx }) => {
      await this.watched.lock(tx, [ends.source_id])
      return this.watches.remove(tx, ends)
    })
  }

  async #shown(reader: Reader, rows: readonly WatchRecord[]): Promise<Watch[]> {
    const ids = new Set(rows.flatMap(({ source_id, watcher_id }) => [source_id, watcher_id]))
    const names = await this.objects.names(reader, [...ids])
    return rows.map((row) => toWatch(row, names))
  }
}

const positionOf = (cursor: string | undefined): WatchPosition | undefined => {
  const position = readCursor(cursor)
  if (!position) return undefined
  const [sourceId = '', watcherId = ''] = position.id.split(':')
  return { createdAt: position.createdAt, sourceId, watcherId }
}

const requireAwake = (watcher: Party): void => {
  if (watcher.kind !== 'node') return
  const { status } = watcher.node
  if (status !== 'done' && status !== 'canceled') return
  throw new SvcError('illegal_transition', `The node ${watcher.id} is ${status}, and is told of nothing any more.`, {
    resource: 'node',
    id: watcher.id,
    state: status,
    event: 'watch',
  })
}

const invalid = (pointer: string, message: string): SvcError =>
  new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })

const unnamed = (): SvcError => invalid('/watcher', 'must be given, unless `source` is')
