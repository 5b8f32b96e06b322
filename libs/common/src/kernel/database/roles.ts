import pg from 'pg'
import type { ServiceName } from '../../contract/define.js'
import type { ServerLog } from '../servers/server-log.js'
import { settleRights } from './role-rights.js'
import { scramVerifier } from './scram-verifier.js'
import { NotPermitted, roleNameOf, type ServiceRole, serviceRoles, urlAs } from './service-roles.js'

export interface RoleOptions {
  /** Of an account that owns the schemas and may create roles. */
  readonly url: string
  /** Of 128 bits and more, in ASCII; the same one at every start. */
  readonly passwordOf: (service: ServiceName) => string
  readonly log: Pick<ServerLog, 'info' | 'warn'>
  /** Connections that one role may have at once; half of the server's unless given, -1 for any number. */
  readonly connections?: number
}

export type UrlFor = (service: ServiceName) => string

interface Server {
  readonly admin: string
  readonly database: string
  readonly max: number
}

interface FoundRole {
  readonly name: string
  /** Attributes that it should not have, as ALTER ROLE takes them away. */
  readonly wrong: readonly string[]
  readonly limit: number
  readonly member_of: readonly string[]
}

const SERVER = `SELECT current_user AS admin, current_database() AS database, current_setting('max_connections')::int AS max`

const FOUND = `
  SELECT rolname AS name, rolconnlimit AS limit,
    array_remove(ARRAY[CASE WHEN rolsuper THEN 'NOSUPERUSER' END, CASE WHEN rolcreatedb THEN 'NOCREATEDB' END,
      CASE WHEN rolcreaterole THEN 'NOCREATEROLE' END, CASE WHEN rolreplication THEN 'NOREPLICATION' END,
      CASE WHEN rolbypassrls THEN 'NOBYPASSRLS' END, CASE WHEN NOT rolcanlogin THEN 'LOGIN' END], NULL) AS wrong,
    ARRAY(SELECT quote_ident(g.rolname) FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
           WHERE m.member = r.oid) AS member_of
    FROM pg_roles r WHERE rolname = ANY ($1)`

/** Another database of the server is being set up: a role that is made twice, or a row that both wrote. */
const isRace = (error: unknown): boolean => {
  const { code, message = '' } = error as { code?: string; message?: string }
  return code === '42710' || code === '23505' || (code === 'XX000' && message.includes('concurrently'))
}
const tries = 5

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? ''
/** By another password, by pg_hba.conf, or by a pooler that doesn't know it. */
const isRefused = (error: unknown): boolean => /^(28|08P01)/.test(codeOf(error))
/** It was let in, and then there was no room. */
const isFull = (error: unknown): boolean => codeOf(error) === '53300'

class RoleStep {
  constructor(
    private readonly client: pg.Client,
    private readonly options: RoleOptions,
    private readonly server: Server,
  ) {}

  readonly urlFor: UrlFor = (service) => urlAs(this.options.url, this.nameOf(service), this.options.passwordOf(service))

  async run(): Promise<void> {
    const made = await this.#settled()
    const refused = (await Promise.all(serviceRoles.map((role) => this.#isRefused(role)))).flatMap((role) => role ?? [])
    for (const { service } of refused) await this.#setPassword(service)
    for (const role of refused) {
      if (await this.#isRefused(role))
        throw new NotPermitted(`the server does not let "${this.nameOf(role.service)}" in`)
    }
    const renewed = refused.map(({ service }) => this.nameOf(service))
    if (made.length + renewed.length > 0) this.options.log.info({ made, renewed }, 'roles of the services were set up')
  }

  nameOf(service: ServiceName): string {
    return roleNameOf(this.server.admin, this.server.database, service)
  }

  /** All or nothing, and again when another daemon's set-up came between; answers the roles that it made. */
  async #settled(): Promise<string[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.client.query('BEGIN')
        const made = await this.#settleRoles()
        const { changed, left } = await settleRights(this.client, this.#holders())
        await this.client.query('COMMIT')
        if (changed > 0) this.options.log.info({ changed }, 'rights of the services were set')
        if (left.length > 0) this.options.log.warn({ left }, 'rights could not be taken away: run this as a superuser')
        return made
      } catch (error) {
        await this.client.query('ROLLBACK')
        if (!isRace(error) || attempt === tries) throw error
      }
    }
  }

  #holders() {
    return serviceRoles.map(({ service, schemas, reads = [], functions = [] }) => ({
      role: this.nameOf(service),
      schemas,
      reads,
      functions,
    }))
  }

  async #settleRoles(): Promise<string[]> {
    const limit = this.options.connections ?? Math.floor(this.server.max / 2)
    const names = serviceRoles.map(({ service }) => this.nameOf(service))
    const { rows } = await this.client.query<FoundRole>(FOUND, [names])
    const found = new Map(rows.map((role) => [role.name, role]))
    const made: string[] = []
    for (const { service } of serviceRoles) {
      const name = this.nameOf(service)
      const there = found.get(name)
      if (there) await this.#mend(there, limit)
      else {
        const attributes = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE CONNECTION LIMIT ${limit}`
        await this.client.query(`CREATE ROLE ${quoted(name)} ${attributes} PASSWORD ${await this.#verifier(service)}`)
        made.push(name)
      }
    }
    return made
  }

  async #mend({ name, wrong, limit: found, member_of }: FoundRole, limit: number): Promise<void> {
    const changes = [...wrong, ...(found === limit ? [] : [`CONNECTION LIMIT ${limit}`])]
    if (changes.length > 0) await this.client.query(`ALTER ROLE ${quoted(name)} ${changes.join(' ')}`)
    for (const group of member_of) await this.client.query(`REVOKE ${group} FROM ${quoted(name)}`)
  }

  async #setPassword(service: ServiceName): Promise<void> {
    await this.client.query(`ALTER ROLE ${quoted(this.nameOf(service))} PASSWORD ${await this.#verifier(service)}`)
  }

  async #verifier(service: ServiceName): Promise<string> {
    return pg.escapeLiteral(await scramVerifier(this.options.passwordOf(service)))
  }

  /** The role itself when it can't log in with its password. */
  async #isRefused(role: ServiceRole): Promise<ServiceRole | undefined> {
    const client = new pg.Client({
      connectionString: this.urlFor(role.service),
      application_name: 'svc roles',
      connectionTimeoutMillis: 5000,
    })
    try {
      await client.connect()
      return undefined
    } catch (error) {
      if (isFull(error)) return undefined
      if (isRefused(error)) return role
      throw error
    } finally {
      await client.end()
    }
  }
}

const quoted = (name: string): string => pg.escapeIdentifier(name)

/**
 * Makes a role for each service, with rights on its own schemas alone, and answers how each reaches the database. Safe
 * to repeat and to be killed anywhere; the caller holds the lock of the migrations. Where all is in order it only looks.
 *
 * @throws NotPermitted says what the account lacks, and what to run
 */
export const ensureRoles = async (client: pg.Client, options: RoleOptions): Promise<UrlFor> => {
  const { rows } = await client.query<Server>(SERVER)
  const server = rows[0] as Server
  const step = new RoleStep(client, options, server)
  try {
    await step.run()
  } catch (cause) {
    if (codeOf(cause) !== '42501' && !(cause instanceof NotPermitted)) throw cause
    throw new NotPermitted(refusal(server, (cause as Error).message), { cause })
  }
  return step.urlFor
}

const refusal = ({ admin }: Server, cause: string): string =>
  `The services can't have a role each on the database of DATABASE_URL: ${cause}. Either let its account make them ` +
  `(as a superuser: ALTER ROLE ${quoted(admin)} CREATEROLE) and let pg_hba.conf, or the pooler, admit them as it does ` +
  `this account; or accept one account for all of them: SVC_DATABASE_ROLES=shared.`
