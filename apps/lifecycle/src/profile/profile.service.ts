import { isDeepStrictEqual } from 'node:util'
import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import type { NodeCreate } from '#common/contract/node.schema.js'
import type { Profile } from '#common/contract/profile.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { checkScopes } from '#common/kernel/scopes.js'
import { type ProfileRecord, ProfileRepository } from './profile.repository.js'

const ensure = contract['profiles.ensure']

const missing = (name: string): never => {
  throw new SvcError('not_found', `There is no profile ${name}.`, { resource: 'profile', id: name })
}

const refuse = (pointer: string, message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })
}

/** Named sets of defaults that nodes are made with. */
@Injectable()
export class ProfileService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly profiles: ProfileRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError precondition_failed, validation_failed */
  ensure(ctx: Context, input: InputOf<typeof ensure>): Promise<Profile> {
    checkDefaults(input.defaults)
    return this.writer.transact(ctx, async ({ tx }) => {
      const at = new Date(this.clock.now())
      const wanted = {
        name: input.name,
        display_name: input.display_name ?? input.name,
        // as it is read back
        defaults: JSON.parse(JSON.stringify(input.defaults)) as ProfileRecord['defaults'],
        app_id: input.app_id,
      }
      const { row, made } = await this.profiles.claim(tx, { ...wanted, version: 1, created_at: at, updated_at: at })
      requireVersion(input.if_match, made ? 0 : row.version)
      const { name, display_name, defaults, app_id } = row
      if (made || isDeepStrictEqual({ name, display_name, defaults, app_id }, wanted)) return shown(row)
      const next = { ...row, ...wanted, version: row.version + 1, updated_at: at }
      this.profiles.save(tx, next)
      return shown(next)
    })
  }

  /** @throws SvcError not_found */
  async retrieve(ctx: Context, name: string): Promise<Profile> {
    return shown(await this.usable(ctx, name))
  }

  /** The body of a create with the defaults of the profile that it names. @throws SvcError not_found */
  async applied<Body extends NodeCreate>(ctx: Context, body: Body): Promise<Body> {
    if (body.env_profile === undefined) return body
    const { defaults } = await this.usable(ctx, body.env_profile)
    const { exec, ...plain } = defaults
    const engine = body.engine ?? defaults.engine
    // a program of the profile's belongs to the engine that takes one
    return { ...plain, ...(exec && engine === 'exec' && { exec }), ...given(body) }
  }

  private async usable(ctx: Context, name: string): Promise<ProfileRecord> {
    const row = (await this.profiles.find(this.database, name)) ?? missing(name)
    const { kind, appId } = ctx.actor
    const free = kind === 'owner' || kind === 'system' || row.app_id === null || row.app_id === appId
    return free ? row : missing(name)
  }
}

const given = <T extends object>(body: T): T =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as T

const requireVersion = (wanted: number | undefined, version: number): void => {
  if (wanted === undefined || wanted === version) return
  throw new SvcError('precondition_failed', undefined, { version })
}

const checkDefaults = ({ engine, exec, scopes }: Profile['defaults']): void => {
  if (engine === 'exec' && !exec) refuse('/defaults/exec', 'is required for engine exec: {"argv": ["program", …]}')
  if (engine !== 'exec' && exec) refuse('/defaults/exec', 'is taken by engine exec only')
  if (!scopes) return
  if (scopes.includes('*')) refuse('/defaults/scopes', '"*" is not a scope')
  checkScopes(scopes)
}

const shown = (row: ProfileRecord): Profile => ({
  name: row.name,
  display_name: row.display_name,
  defaults: row.defaults,
  app_id: row.app_id,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
