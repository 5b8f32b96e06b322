import { idPattern, idPrefixes } from '#common/contract/common.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { TxContext, Writer } from '#common/kernel/database/writer.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import type { Party, WatchParties } from '../watch/watch.parties.js'
import type { WatchedRepository } from '../watch/watched.repository.js'
import type { AskedWatch, Watching } from '../watch/watching.js'
import type { CatalogCheck } from './catalog.check.js'
import { type ObjectChange, shapeOf } from './object.change.js'
import type { ObjectRecord } from './object.record.js'
import type { ObjectRepository } from './object.repository.js'
import type { ObjectViews } from './object.view.js'
import { requireAllowed } from './receiver.check.js'
import type { ReceiverRepository } from './receiver.repository.js'
import { type SigningKey, signs } from './signing.secret.js'

const register = contract['objects.object.register']
type Body = InputOf<typeof register>
type Registered = OutputOf<typeof register>

/** What of a registration was looked at before its transaction. */
type Prepared = { readonly watches: readonly AskedWatch[] } | { readonly refusal: SvcError }

/** The tier of what an object watches: it is told at no other time than its receiver takes it. */
const tier = 'normal' as const

/** Registers objects. */
export class RegisterService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly receivers: ReceiverRepository,
    private readonly watched: WatchedRepository,
    private readonly watching: Watching,
    private readonly parties: WatchParties,
    private readonly catalogs: CatalogCheck,
    private readonly change: ObjectChange,
    private readonly views: ObjectViews,
    private readonly key: SigningKey,
    private readonly clock: Clock,
  ) {}

  /**
   * The object with its receiver and its first watches, all or nothing. A repetition has the secret too: the gateway, which
   * knows whether the answer is the one that bears the token, keeps it back.
   *
   * @throws SvcError validation_failed, already_exists, not_found (what it is to watch), event_not_declared, quota_exceeded,
   * receiver_refused, receiver_unfit, catalog_incompatible, and those of a used key
   */
  async register(ctx: Context, input: Body): Promise<Registered> {
    const prepared = await this.#prepare(ctx, input)
    const { value } = await this.writer.once(ctx, { operation: register.name, input }, async (within) => {
      // thrown here, since a repetition is given its first answer whatever has changed since
      if ('refusal' in prepared) throw prepared.refusal
      const at = new Date(this.clock.now())
      const { row, existed } = await this.#settle(within, input, at)
      if (prepared.watches.length > 0)
        await this.watching.put(within, { kind: 'object', id: row.id }, prepared.watches, at)
      return { ...(await this.views.one(within.tx, row)), existed }
    })
    return { ...value, signing_secret: await this.#secretOf(value.id) }
  }

  async #secretOf(id: string): Promise<string | null> {
    const row = await this.objects.find(this.database, id)
    return row && signs(row) ? this.key.secretsOf(row, new Date(this.clock.now())).current : null
  }

  async #prepare(ctx: Context, { name, catalog, receiver, watches }: Body): Promise<Prepared> {
    try {
      if (idPrefixes.some((prefix) => idPattern(prefix).test(name))) throw looksLikeId()
      requireAllowed(receiver)
      await this.catalogs.require(catalog)
      const self = { kind: 'object' } as const
      const sources = await Promise.all(watches.map(({ source }) => this.parties.source(ctx, source, self)))
      requireOnce(sources)
      return { watches: sources.map((source, at) => ({ source, events: watches[at]?.events ?? null, tier })) }
    } catch (error) {
      if (isSvcError(error)) return { refusal: error }
      throw error
    }
  }

  async #settle(within: TxContext, input: Body, at: Date): Promise<{ row: ObjectRecord; existed: boolean }> {
    const { tx } = within
    const row = this.#build(within, input, at)
    // one that is deleted after it was in the way is in the way no more
    while (!(await this.objects.insert(tx, row))) {
      if (!input.rotate) throw taken(input.name)
      const brought = await this.#bring(tx, input, at)
      if (brought) return { row: brought, existed: true }
    }
    await this.objects.requireRoom(tx)
    this.watched.make(tx, [row.id])
    if (row.receiver) this.receivers.make(tx, [shapeOf(row.id, row.receiver)])
    return { row, existed: false }
  }

  #build({ actor }: Context, { name, description, catalog, receiver, app_id }: Body, at: Date): ObjectRecord {
    return {
      id: newId('obj'),
      name,
      description,
      catalog,
      catalog_version: 1,
      receiver,
      receiver_version: 1,
      secret: 1,
      former_secret: null,
      former_secret_until: null,
      app_id,
      created_by: actorRefOf(actor),
      version: 1,
      created_at: at,
      updated_at: at,
      deleted_at: null,
    }
  }

  /** The one that has the name, as the body says; undefined when it is deleted meanwhile. */
  async #bring(
    tx: Tx,
    { name, app_id, description, catalog, receiver }: Body,
    at: Date,
  ): Promise<ObjectRecord | undefined> {
    const found = await this.objects.find(tx, name)
    if (!found) return undefined
    await this.watched.lock(tx, [found.id])
    const before = await this.objects.lock(tx, found.id)
    if (!before) return undefined
    if (before.app_id !== app_id)
      throw new SvcError('already_exists', `The object ${name} belongs to another application, or to none.`, { name })
    return this.change.apply(
      tx,
      before,
      { description, catalog, receiver },
      { force: false, at, remedy: byUpdate(name) },
    )
  }
}

const taken = (name: string): SvcError =>
  new SvcError('already_exists', `There is an object ${name}.`, {
    name,
    remedy: 'Choose another name, or send `rotate` to bring that object to this body and get a new publish token.',
  })

/** What to do about an incompatible catalog: a registration can't be forced. */
const byUpdate = (name: string): string =>
  [
    'Each entry of `differences` names one. Add a new event instead.',
    'Or, when you have seen to all of them, change the catalog with `force` by `customObjects.update`',
    `(\`svc custom-object update ${name} --catalog <file> --force\`), and then register again.`,
  ].join(' ')

/** @throws SvcError validation_failed for a source that is named twice: which of the two filters it is would be a guess */
const requireOnce = (sources: readonly Pick<Party, 'id'>[]): void => {
  const errors = sources.flatMap(({ id }, at) => {
    const first = sources.findIndex((other) => other.id === id)
    const message = `is the same as that of /watches/${first}: name all its events there`
    return first < at ? [{ pointer: `/watches/${at}/source`, message }] : []
  })
  if (errors.length > 0) throw new SvcError('validation_failed', undefined, { errors })
}

const looksLikeId = (): SvcError =>
  new SvcError('validation_failed', undefined, {
    errors: [{ pointer: '/name', message: 'must not have the form of an identifier' }],
  })
