import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { deriveNodeToken, hashToken, mintToken } from '#common/kernel/tokens.js'
import type { GrantRecord } from '../apps/grant.record.js'
import type { Grants } from '../apps/grants.js'
import { HeldGrant } from '../apps/held.grant.js'
import type { TrustListener, TrustTail } from '../trust/trust.tail.js'
import type { NodePrincipals } from './node.principals.js'
import type { TokenRecord, TokenRepository } from './token.repository.js'
import type { TokenUse } from './token.use.js'
import { TokenVerifier } from './token.verifier.js'

const key = Buffer.alloc(32, 7)
const node = 'node_01jd0000000000000000000000'
const token = mintToken('own', '01jd0000000000000000000000')

let now: number
let reads: number
let rows: Map<string, TokenRecord | SvcError>
let principal: {
  generation: number
  ended: boolean
  scopes: string[]
  app_id: string | null
  profile: string | null
  place: { cwd: string; host_id: string | null; git_dir: string | null }
}
let grant: GrantRecord | undefined
let asked: boolean[]
let tell: TrustListener
let used: string[]
let verifier: TokenVerifier
/** What waits for a time to pass. */
let timers: (() => void)[]
let hangs: boolean

const kept = (text: string, changes: Partial<TokenRecord> = {}): TokenRecord => ({
  id: `tok_${text.split('_')[2]}`,
  kind: 'own',
  hash: hashToken(text),
  label: null,
  appId: null,
  profile: null,
  objectRef: null,
  scopes: ['*'],
  followsGrant: false,
  createdAt: 0,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  rotatedFrom: null,
  ...changes,
})

beforeEach(() => {
  now = 0
  reads = 0
  timers = []
  hangs = false
  rows = new Map([['tok_01jd0000000000000000000000', kept(token)]])
  const place = { cwd: '/srv', host_id: null, git_dir: null }
  principal = { generation: 2, ended: false, scopes: ['svc:llm'], app_id: null, profile: null, place }
  grant = { appId: 'app_1', scopes: ['svc:act', 'svc:llm'], profiles: null, version: 1, status: 'active', updatedAt: 0 }
  asked = []
  const repository = {
    find: async (id: string) => {
      reads += 1
      if (hangs) return new Promise<never>(() => undefined)
      const row = rows.get(id)
      if (row instanceof SvcError) throw row
      return row
    },
  } as unknown as TokenRepository
  const of = async (_id: string, fresh: boolean): Promise<typeof principal> => {
    asked.push(fresh)
    return principal
  }
  const principals = { of } as unknown as NodePrincipals
  const after = (_ms: number, callback: () => void) => {
    timers.push(callback)
    return () => undefined
  }
  const clock = { now: () => now, monotonic: () => now, after } as Clock
  used = []
  const uses = { note: (id: string) => used.push(id) } as unknown as TokenUse
  const grants = { of: async () => new HeldGrant(grant) } as unknown as Grants
  const trust = {
    listen: (listener: TrustListener) => {
      tell = listener
    },
  } as unknown as TrustTail
  verifier = new TokenVerifier(repository, principals, key, uses, grants, trust, clock)
  verifier.onModuleInit()
})

const set = (changes: Partial<TokenRecord>): void =>
  void rows.set('tok_01jd0000000000000000000000', kept(token, changes))

describe('a kept token', () => {
  it('is read twice a second, however many ask', async () => {
    await Promise.all([verifier.verify(token), verifier.verify(token), verifier.verify(token)])
    now = 499
    expect(await verifier.verify(token)).toMatchObject({ kind: 'owner', scopes: ['*'] })
    expect(reads).toBe(1)
    now = 500
    await verifier.verify(token)
    expect(reads).toBe(2)
  })

  it('ends within half a second of its revocation, although nobody told', async () => {
    await verifier.verify(token)
    set({ revokedAt: 5 })
    now = 500
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'token_revoked' })
  })

  it('ends at once when its change is told', async () => {
    await verifier.verify(token)
    set({ revokedAt: 5 })
    tell({ tokens: ['tok_01jd0000000000000000000000'] })
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'token_revoked' })
  })

  it('that was told to have changed is not believed while the database is gone', async () => {
    await verifier.verify(token)
    rows.set('tok_01jd0000000000000000000000', new SvcError('service_unavailable'))
    tell({ tokens: ['tok_01jd0000000000000000000000'] })
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'service_unavailable' })
  })

  // The row was read before the revocation and remembered after it was told, for another half second.
  it('is not remembered from a look that its change overtook', async () => {
    const early = verifier.verify(token)
    set({ revokedAt: 5 })
    tell({ tokens: ['tok_01jd0000000000000000000000'] })
    await early
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'token_revoked' })
  })

  it('is marked as used by a request, not by being looked at', async () => {
    await verifier.verify(token)
    expect(used).toEqual([])
    await verifier.use(token)
    expect(used).toEqual(['tok_01jd0000000000000000000000'])
  })

  it('of an object is for publishing to it and holds no scope', async () => {
    const publish = mintToken('pub', '01jd0000000000000000000002')
    rows.set('tok_01jd0000000000000000000002', kept(publish, { kind: 'pub', scopes: ['svc:act'], objectRef: 'obj_1' }))
    expect(await verifier.verify(publish)).toEqual({
      kind: 'pub',
      principal: 'object:obj_1',
      tokenId: 'tok_01jd0000000000000000000002',
      scopes: [],
    })
  })

  it('is believed while the database is gone, but not for ever', async () => {
    await verifier.verify(token)
    rows.set('tok_01jd0000000000000000000000', new SvcError('service_unavailable'))
    now = 60_000
    await expect(verifier.verify(token)).resolves.toMatchObject({ kind: 'owner' })
    now = 60_499
    await verifier.verify(token)
    expect(reads).toBe(2)
    now = 16 * 60_000
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'service_unavailable' })
  })

  // Each look waited for as long as a query may take, and everybody who showed the token with it.
  it('is believed while the database hangs, and keeps nobody waiting for long', async () => {
    await verifier.verify(token)
    hangs = true
    now = 60_000
    const asked = [verifier.verify(token), verifier.verify(token)]
    for (const pass of timers) pass()
    for (const actor of await Promise.all(asked)) expect(actor).toMatchObject({ kind: 'owner' })
    await expect(verifier.verify(token)).resolves.toMatchObject({ kind: 'owner' })
    expect(reads).toBe(2)
  })

  it('that was told to have changed is not believed while the database hangs', async () => {
    await verifier.verify(token)
    hangs = true
    now = 60_000
    let answered = false
    void verifier.verify(token).finally(() => {
      answered = true
    })
    tell({ tokens: ['tok_01jd0000000000000000000000'] })
    for (const pass of timers) pass()
    await new Promise(setImmediate)
    expect(answered).toBe(false)
  })

  it('never seen before can’t be checked without the database', async () => {
    rows.set('tok_01jd0000000000000000000000', new SvcError('internal'))
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'service_unavailable' })
  })

  it('expires', async () => {
    set({ kind: 'own', expiresAt: 500 })
    await verifier.verify(token)
    now = 500
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'token_expired' })
  })

  it('with the id of another, or of another kind, is not valid', async () => {
    const forged = mintToken('own', '01jd0000000000000000000000')
    await expect(verifier.verify(forged)).rejects.toMatchObject({ code: 'token_invalid' })
    set({ kind: 'app', appId: 'a' })
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'token_invalid' })
    await expect(verifier.verify(mintToken('own', 'nobody'))).rejects.toMatchObject({ code: 'token_invalid' })
  })

  it('of an application carries its own scopes', async () => {
    const apps = mintToken('app', '01jd0000000000000000000001')
    rows.set('tok_01jd0000000000000000000001', kept(apps, { kind: 'app', appId: 'a', scopes: ['svc:llm'] }))
    expect(await verifier.verify(apps)).toMatchObject({
      kind: 'app',
      principal: 'app:a',
      appId: 'a',
      scopes: ['svc:llm'],
    })
  })

  it('of one profile of an application acts as that profile', async () => {
    const apps = mintToken('app', '01jd0000000000000000000001')
    rows.set('tok_01jd0000000000000000000001', kept(apps, { kind: 'app', appId: 'a', profile: 'alice' }))
    expect(await verifier.verify(apps)).toMatchObject({ principal: 'app:a:profile:alice', profile: 'alice' })
  })
})

describe("a node's token", () => {
  it('needs no row, and carries what the node may do now', async () => {
    const own = deriveNodeToken(key, node, 1)
    expect(await verifier.verify(own)).toMatchObject({ kind: 'node', nodeId: node, generation: 1, scopes: ['svc:llm'] })
    principal.scopes = []
    expect(await verifier.verify(own)).toMatchObject({ scopes: [] })
    expect(reads).toBe(0)
  })

  it('is renewed from the writer, not from what is remembered', async () => {
    const actor = await verifier.verify(deriveNodeToken(key, node, 1))
    principal.place.cwd = '/elsewhere'
    expect(await verifier.renew(actor)).toEqual({
      ...actor,
      place: { cwd: '/elsewhere', host_id: null, git_dir: null },
    })
    expect(asked).toEqual([false, true])
  })

  it('ends with its node', async () => {
    principal.ended = true
    await expect(verifier.verify(deriveNodeToken(key, node, 2))).rejects.toMatchObject({ code: 'token_revoked' })
  })

  it('made by another key is not valid', async () => {
    const other = deriveNodeToken(Buffer.alloc(32, 8), node, 1)
    await expect(verifier.verify(other)).rejects.toMatchObject({ code: 'token_invalid' })
  })
})

describe('what runs for an app', () => {
  const ofApp = mintToken('app', '01jd0000000000000000000000')
  const app = (changes: Partial<TokenRecord> = {}): void =>
    void rows.set(
      'tok_01jd0000000000000000000000',
      kept(ofApp, { kind: 'app', appId: 'app_1', scopes: ['svc:llm', 'svc:schedule'], ...changes }),
    )
  const ofNode = deriveNodeToken(key, node, 2)

  it('may do what its token says and the grant holds', async () => {
    app()
    expect(await verifier.verify(ofApp)).toMatchObject({ kind: 'app', appId: 'app_1', scopes: ['svc:llm'] })
  })

  it('with a token that follows the grant may do all of it', async () => {
    app({ followsGrant: true, scopes: [] })
    expect((await verifier.verify(ofApp)).scopes).toEqual(['svc:act', 'svc:llm'])
  })

  it('with an empty list of its own may do nothing, and has its grant', async () => {
    app({ scopes: [] })
    const actor = await verifier.verify(ofApp)
    expect([actor.scopes, actor.grantRevoked]).toEqual([[], undefined])
  })

  it('as a node is held to the grant as it is now, not as it was', async () => {
    principal = { ...principal, app_id: 'app_1', scopes: ['svc:act', 'svc:llm'] }
    expect((await verifier.verify(ofNode)).scopes).toEqual(['svc:act', 'svc:llm'])
    grant = { ...(grant as GrantRecord), scopes: ['svc:llm'], version: 2 }
    expect((await verifier.verify(ofNode)).scopes).toEqual(['svc:llm'])
  })

  it.each([
    ['was revoked', { status: 'revoked' as const }],
    ['is for other profiles', { profiles: ['work'] }],
  ])('has nothing when the grant %s', async (_what, change) => {
    app({ profile: 'home' })
    principal = { ...principal, app_id: 'app_1', profile: 'home' }
    grant = { ...(grant as GrantRecord), ...change }
    const nothing = { scopes: [], grantRevoked: true }
    expect(await verifier.verify(ofApp)).toMatchObject(nothing)
    expect(await verifier.verify(ofNode)).toMatchObject(nothing)
  })

  it('has nothing when there never was a grant', async () => {
    app()
    grant = undefined
    expect(await verifier.verify(ofApp)).toMatchObject({ scopes: [], grantRevoked: true })
  })
})
