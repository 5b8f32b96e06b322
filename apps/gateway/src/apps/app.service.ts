import { Inject, Injectable } from '@nestjs/common'
import { type App, contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { violatedKey } from '#common/kernel/database/sql-errors.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { type AppRecord, toApp } from './app.record.js'
import { type AppFields, AppRepository } from './app.repository.js'
import { AppSpread } from './app.spread.js'
import { GrantRepository } from './grant.repository.js'
import { checkGrant, hiddenApp } from './grant.rules.js'

const create = contract['apps.create']
const list = contract['apps.list']
const update = contract['apps.update']

const taken = (name: string, cause?: unknown): SvcError =>
  new SvcError('already_exists', `There is an app ${name} already.`, { resource: 'app', id: name }, { cause })

/** The apps that the owner registered. */
@Injectable()
export class AppService {
  constructor(
    @Inject(Writer) private readonly writer: Writer,
    @Inject(AppRepository) private readonly apps: AppRepository,
    @Inject(GrantRepository) private readonly grants: GrantRepository,
    @Inject(AppSpread) private readonly spread: AppSpread,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError already_exists, validation_failed, and those of a used key */
  async create(ctx: Context, input: InputOf<typeof create>): Promise<App> {
    const id = newId('app')
    const said = checkGrant(id, input)
    const { value, replayed } = await this.writer.once(ctx, { operation: create.name, input }, async ({ tx }) => {
      const now = this.clock.now()
      const fields = { name: input.name, description: input.description ?? null, origins: input.origins }
      if (!(await this.apps.insert(tx, id, fields, now))) throw taken(input.name)
      const grant = { appId: id, ...said, version: 1, status: 'active' as const, updatedAt: now }
      this.grants.insert(tx, grant)
      return toApp({ id, ...fields, grant, tokens: 0, createdAt: now, updatedAt: now })
    })
    if (!replayed) await this.spread.changed({ appId: id })
    return value
  }

  async list(input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const rows = await this.apps.page(readCursor(input.after), input.limit + 1)
    const page = pageOf(rows, input.limit, ({ createdAt, id }) => cursorAfter(new Date(createdAt), id))
    return { ...page, data: page.data.map(toApp) }
  }

  /** @throws SvcError not_found */
  async retrieve(ref: string): Promise<App> {
    return toApp(await this.require(ref))
  }

  /** By its id or its name. @throws SvcError not_found */
  async require(ref: string): Promise<AppRecord> {
    const app = await this.apps.find(ref)
    if (!app) throw hiddenApp(ref)
    return app
  }

  /** @throws SvcError not_found, already_exists */
  async update(ctx: Context, { app: ref, ...changes }: InputOf<typeof update>): Promise<App> {
    const [before, after] = await this.writer.transact(ctx, async ({ tx }) => {
      const app = await this.apps.lock(tx, ref)
      if (!app) throw hiddenApp(ref)
      const fields: AppFields = {
        name: changes.name ?? app.name,
        description: changes.description === undefined ? app.description : changes.description,
        origins: changes.origins ?? app.origins,
      }
      if (isSame(app, fields)) return [app, app]
      const updatedAt = this.clock.now()
      await this.apps.update(tx, app.id, fields, updatedAt).catch((error: unknown) => {
        throw violatedKey(error) === 'apps_name_key' ? taken(fields.name, error) : error
      })
      return [app, { ...app, ...fields, updatedAt }]
    })
    if (after !== before) await this.spread.changed({ appId: after.id })
    return toApp(after)
  }

  /** Grant and tokens end in the same transaction. @throws SvcError not_found */
  async delete(ctx: Context, ref: string): Promise<undefined> {
    const ended = await this.writer.transact(ctx, async ({ tx }) => {
      const app = await this.apps.lock(tx, ref)
      if (!app) throw hiddenApp(ref)
      const now = this.clock.now()
      if (app.grant.status === 'active') {
        this.grants.update(tx, { ...app.grant, status: 'revoked', version: app.grant.version + 1, updatedAt: now })
      }
      const tokens = await this.apps.revokeTokens(tx, app.id, now)
      this.apps.remove(tx, app.id)
      return { appId: app.id, tokens }
    })
    await this.spread.changed(ended)
    return undefined
  }
}

const isSame = (app: AppRecord, { name, description, origins }: AppFields): boolean =>
  app.name === name && app.description === description && app.origins.join('\n') === origins.join('\n')
