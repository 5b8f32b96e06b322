import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { CustomObject } from '#common/contract/object.schema.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import type { WatchedRepository } from '../watch/watched.repository.js'
import { catalogAsyncApi } from './catalog.asyncapi.js'
import type { CatalogCheck } from './catalog.check.js'
import { catalogTypes } from './catalog.types.js'
import { hiddenObject, requireSeen } from './object.access.js'
import type { ObjectChange } from './object.change.js'
import type { ObjectRecord } from './object.record.js'
import type { ObjectRepository } from './object.repository.js'
import type { ObjectViews } from './object.view.js'
import { requireAllowed } from './receiver.check.js'
import { shownTo } from './receiver.shown.js'
import { rotated, type SigningKey, signs } from './signing.secret.js'

const list = contract['customObjects.list']
const update = contract['customObjects.update']
const rotate = contract['objects.object.rotateSecret']

type Asked = InputOf<(typeof contract)['customObjects.retrieve']>

/** Reads and changes objects for those who may. */
export class ObjectService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly watched: WatchedRepository,
    private readonly views: ObjectViews,
    private readonly catalogs: CatalogCheck,
    private readonly change: ObjectChange,
    private readonly key: SigningKey,
    private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found */
  async retrieve(ctx: Context, { ref }: Asked): Promise<CustomObject> {
    return shownTo(ctx.actor, await this.views.one(this.database, await this.#seen(ctx, ref)))
  }

  /** @throws SvcError validation_failed (a cursor that is none) */
  async list(ctx: Context, { app_id, after, limit }: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const filter = { appId: app_id, before: readCursor(after), limit: limit + 1 }
    const rows = await this.objects.page(this.database, ctx, filter)
    const page = pageOf(rows, limit, ({ created_at, id }) => cursorAfter(created_at, id))
    const objects = await this.views.all(this.database, page.data)
    return { ...page, data: objects.map((each) => shownTo(ctx.actor, each)) }
  }

  /** @throws SvcError not_found */
  async types(ctx: Context, { ref }: Asked): Promise<{ typescript: string }> {
    return { typescript: catalogTypes(await this.#seen(ctx, ref)) }
  }

  /** @throws SvcError not_found */
  async asyncapi(ctx: Context, { ref }: Asked): Promise<Record<string, unknown>> {
    return catalogAsyncApi(await this.#seen(ctx, ref))
  }

  /** @throws SvcError not_found, precondition_failed, validation_failed, catalog_incompatible, receiver_refused, receiver_unfit */
  async update(ctx: Context, input: InputOf<typeof update>): Promise<OutputOf<typeof update>> {
    const { ref, if_match, force, ...changes } = input
    if (changes.catalog) await this.catalogs.require(changes.catalog)
    requireAllowed(changes.receiver)
    return this.writer.transact(ctx, async ({ tx }) => {
      const before = await this.#lock(tx, ref)
      if (if_match !== undefined && if_match !== before.version)
        throw new SvcError('precondition_failed', undefined, { version: before.version })
      const at = new Date(this.clock.now())
      const row = await this.change.apply(tx, before, changes, { force, at })
      const secret = signs(row) && !signs(before) ? this.key.secretsOf(row, at).current : null
      return { ...(await this.views.one(tx, row)), signing_secret: secret }
    })
  }

  /**
   * Those before it sign too for `overlap` seconds, and no less than an earlier rotation promised; with 0 all of them end at
   * once. The secret is in the first answer alone: when that is lost, another rotation leaves who has the former one unharmed.
   *
   * @throws SvcError not_found; receiver_unfit where nothing is signed
   */
  async rotateSecret(ctx: Context, input: InputOf<typeof rotate>): Promise<OutputOf<typeof rotate>> {
    let secret: string | null = null
    const { replayed } = await this.writer.once(ctx, { operation: rotate.name, input }, async ({ tx }) => {
      const before = await this.#lock(tx, input.ref)
      if (!signs(before)) {
        const message = `Deliveries to the object ${before.name} are not signed: its receiver is no \`url\`.`
        throw new SvcError('receiver_unfit', message, { resource: 'object', id: before.id })
      }
      const at = new Date(this.clock.now())
      const row = this.objects.save(tx, before, rotated(before, input.overlap, at), at)
      secret = this.key.secretsOf(row, at).current
      return null
    })
    // what was set by a transaction that was undone is of no secret that signs
    return { signing_secret: replayed ? null : secret }
  }

  async #seen(ctx: Context, ref: string): Promise<ObjectRecord> {
    return requireSeen(ctx, ref, await this.objects.find(this.database, ref))
  }

  async #lock(tx: Tx, ref: string): Promise<ObjectRecord> {
    const found = await this.objects.find(tx, ref)
    if (!found) throw hiddenObject(ref)
    await this.watched.lock(tx, [found.id])
    const row = await this.objects.lock(tx, found.id)
    if (!row) throw hiddenObject(ref)
    return row
  }
}
