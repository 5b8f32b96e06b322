import { TestGateway } from '../../apps/gateway/src/testing/gateway.fixture.js'
import { settings } from '../../libs/common/src/kernel/config.js'
import { newId } from '../../libs/common/src/kernel/ids.js'
import { deriveNodeToken, hashToken, mintToken, type TokenKind } from '../../libs/common/src/kernel/tokens.js'
import { type TestDatabase, testDatabase } from '../../libs/common/src/testing/database.js'
import { testNats } from '../../libs/common/src/testing/nats.js'
import type { Caller } from './matrix.callers.js'
import { type PlayedNode, PlayedServices } from './played.services.js'

const everything = [
  'svc:llm',
  'svc:act',
  'svc:schedule',
  'svc:memory:manage:user',
  'svc:files:rw:user:/',
  'svc:files:share',
]
const lists: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  'svc:llm': ['svc:llm'],
  'svc:schedule': ['svc:schedule'],
  'svc:act and svc:llm': ['svc:act', 'svc:llm'],
  'documents and files alone': ['svc:memory:manage:user', 'svc:files:rw:user:/', 'svc:files:share'],
  'every scope': everything,
}

interface Kept {
  readonly kind: TokenKind
  readonly app?: string
  readonly profile?: string
  readonly scopes?: readonly string[]
  readonly follows?: boolean
  readonly expired?: boolean
  readonly revoked?: boolean
}

/** A gateway with everybody who may ask it. */
export class MatrixStage {
  readonly callers: Caller[] = []
  readonly #elsewhere = newId('node')

  private constructor(
    readonly gateway: TestGateway,
    readonly services: PlayedServices,
    private readonly database: TestDatabase,
  ) {}

  static async start(): Promise<MatrixStage> {
    const { url } = testNats()
    const services = await PlayedServices.start(url)
    const database = await testDatabase()
    // whether somebody asks too often is no question of the matrix
    const unlimited = 'SVC_RATE_LIMIT' in settings.shape ? { SVC_RATE_LIMIT: 1_000_000 } : {}
    const gateway = await TestGateway.start(url, database, unlimited)
    const stage = new MatrixStage(gateway, services, database)
    services.nodes.set(stage.#elsewhere, { generation: 1, scopes: [] })
    await stage.#fill()
    return stage
  }

  async stop(): Promise<void> {
    await this.gateway.stop()
    await this.services.stop()
  }

  async #fill(): Promise<void> {
    this.#strangers()
    this.#add({ name: 'the owner', token: this.gateway.token, kind: 'owner', scopes: ['*'] })
    await this.#apps()
    await this.#spent()
    this.#nodes()
    await this.#nodesOfApps()
  }

  #add(caller: Omit<Caller, 'node'> & { readonly node?: string }): void {
    this.callers.push({ node: this.#elsewhere, ...caller })
  }

  #strangers(): void {
    const refused = (name: string, token: string | undefined, code: string): void =>
      this.#add({ name, token, refused: code, scopes: [] })
    refused('nobody', undefined, 'token_missing')
    refused('garbage', 'letmein', 'token_invalid')
    refused(
      "the owner's with a wrong letter",
      this.gateway.token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
      'token_invalid',
    )
    refused('a token that was never given', mintToken('own', '01jd0000000000000000000000'), 'token_invalid')
    refused(
      "a node's, made with another key",
      deriveNodeToken(Buffer.alloc(32, 9), this.#elsewhere, 1),
      'token_invalid',
    )
    refused("a node's that never was", this.gateway.nodeToken(newId('node')), 'token_revoked')
  }

  async #apps(): Promise<void> {
    const whole = await this.#app(everything)
    for (const [name, scopes] of Object.entries(lists)) {
      const token = await this.#token({ kind: 'app', app: whole, scopes })
      this.#add({ name: `an app with ${name}`, token, kind: 'app', scopes })
    }
    const following = await this.#token({ kind: 'app', app: whole, follows: true })
    this.#add({ name: 'an app that follows its grant', token: following, kind: 'app', scopes: everything })
    const narrow = await this.#app(['svc:llm'])
    const narrowed = await this.#token({ kind: 'app', app: narrow, scopes: everything })
    this.#add({ name: 'an app whose grant was narrowed', token: narrowed, kind: 'app', scopes: ['svc:llm'] })
    const gone = await this.#app(everything, 'revoked')
    const revoked = await this.#token({ kind: 'app', app: gone, scopes: everything })
    this.#add({ name: 'an app whose grant was revoked', token: revoked, kind: 'app', scopes: [], grantRevoked: true })
    const others = await this.#app(everything, 'active', ['home'])
    const foreign = await this.#token({ kind: 'app', app: others, profile: 'work', scopes: everything })
    const ofNoGrant = { kind: 'app', scopes: [], grantRevoked: true } as const
    this.#add({ name: 'an app’s of a profile that its grant is not for', token: foreign, ...ofNoGrant })
    const publisher = await this.#token({ kind: 'pub' })
    this.#add({ name: 'a publish token', token: publisher, kind: 'pub', scopes: [] })
  }

  async #spent(): Promise<void> {
    const app = await this.#app(everything)
    const add = async (name: string, kept: Kept, refused: string): Promise<void> =>
      this.#add({ name, token: await this.#token(kept), refused, scopes: [] })
    await add("an app's that has expired", { kind: 'app', app, scopes: everything, expired: true }, 'token_expired')
    await add("an app's that was revoked", { kind: 'app', app, scopes: everything, revoked: true }, 'token_revoked')
    await add('a publish token that was revoked', { kind: 'pub', revoked: true }, 'token_revoked')
    await add("an owner's that was replaced", { kind: 'own', scopes: ['*'], revoked: true }, 'token_revoked')
    await add('a refresh token', { kind: 'rt', app, scopes: everything }, 'token_invalid')
  }

  #nodes(): void {
    for (const [name, scopes] of Object.entries(lists)) {
      this.#node(`a node with ${name}, on itself`, { scopes, generation: 3 }, { itself: true })
      this.#node(`a node with ${name}, on another`, { scopes, generation: 3 }, { itself: false })
    }
    const older = { generation: 3, scopes: ['svc:act', 'svc:llm'] }
    this.#node('an older process of a node, on itself', older, { itself: true, at: 2 })
    this.#node('an older process of a node, on another', older, { itself: false, at: 2 })
    this.#node('a node that has ended', { ...older, ended: true }, { itself: true, refused: 'token_revoked' })
  }

  async #nodesOfApps(): Promise<void> {
    const narrow = await this.#app(['svc:llm'])
    const gone = await this.#app(everything, 'revoked')
    for (const itself of [true, false]) {
      const on = itself ? 'on itself' : 'on another'
      const mine = { generation: 1, scopes: ['svc:act', 'svc:llm'] }
      this.#node(
        `a node of an app whose grant was narrowed, ${on}`,
        { ...mine, appId: narrow },
        { itself, now: ['svc:llm'] },
      )
      this.#node(
        `a node of an app whose grant was revoked, ${on}`,
        { ...mine, appId: gone },
        { itself, now: [], grantRevoked: true },
      )
    }
  }

  #node(
    name: string,
    node: PlayedNode,
    {
      itself,
      at = node.generation,
      now = node.scopes,
      ...more
    }: { itself: boolean; at?: number; now?: readonly string[]; refused?: string; grantRevoked?: true },
  ): void {
    const id = newId('node')
    this.services.nodes.set(id, node)
    const token = this.gateway.nodeToken(id, at)
    const newest = at === node.generation
    this.#add({ name, token, kind: 'node', scopes: now, itself, newest, ...(itself && { node: id }), ...more })
  }

  async #app(scopes: readonly string[], status = 'active', profiles: readonly string[] = []): Promise<string> {
    const id = newId('app')
    await this.database.query(
      `INSERT INTO gateway.apps (id, name, origins, created_at, updated_at) VALUES ($1, $2, '{}', now(), now())`,
      [id, id.replace('app_', 'a')],
    )
    await this.database.query(
      `INSERT INTO gateway.grants (app_id, user_id, scopes, profiles, every_profile, version, status, updated_at)
       VALUES ($1, 'owner', $2, $4, $5, 1, $3, now())`,
      [id, scopes, status, profiles, profiles.length === 0],
    )
    return id
  }

  async #token({ kind, app, profile, scopes = [], follows = false, expired, revoked }: Kept): Promise<string> {
    const id = newId('tok').slice('tok_'.length)
    const token = mintToken(kind, id)
    await this.database.query(
      `INSERT INTO gateway.tokens (id, kind, hash, app_id, profile, object_ref, scopes, follows_grant, created_at, expires_at, revoked_at)
       VALUES ($1, $2, $3, $4, $10, $5, $6, $7, now() - interval '1 day',
         CASE WHEN $8 THEN now() - interval '1 hour' END, CASE WHEN $9 THEN now() - interval '1 hour' END)`,
      [
        id,
        kind,
        hashToken(token),
        app ?? null,
        kind === 'pub' ? 'obj_1' : null,
        scopes,
        follows,
        expired === true,
        revoked === true,
        profile ?? null,
      ],
    )
    return token
  }
}
