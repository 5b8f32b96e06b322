import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { deriveNodeToken, hashToken, mintToken } from '#common/kernel/tokens.js'
import type { NodePrincipals } from './node.principals.js'
import type { TokenRecord, TokenRepository } from './token.repository.js'
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
let asked: boolean[]
let verifier: TokenVerifier

const kept = (text: string, changes: Partial<TokenRecord> = {}): TokenRecord => ({
  id: text.split('_')[2] as string,
  kind: 'own',
  hash: hashToken(text),
  appId: null,
  profile: null,
  scopes: ['*'],
  expiresAt: null,
  revokedAt: null,
  ...changes,
})

beforeEach(() => {
  now = 0
  reads = 0
  rows = new Map([['01jd0000000000000000000000', kept(token)]])
  const place = { cwd: '/srv', host_id: null, git_dir: null }
  principal = { generation: 2, ended: false, scopes: ['svc:llm'], app_id: null, profile: null, place }
  asked = []
  const repository = {
    find: async (id: string) => {
      reads += 1
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
  const clock = { now: () => now, monotonic: () => now } as Clock
  verifier = new TokenVerifier(repository, principals, key, clock)
})

const set = (changes: Partial<TokenRecord>): void => void rows.set('01jd0000000000000000000000', kept(token, changes))

describe('a kept token', () => {
  it('is read once a second, however many ask', async () => {
    await Promise.all([verifier.verify(token), verifier.verify(token), verifier.verify(token)])
    now = 999
    expect(await verifier.verify(token)).toMatchObject({ kind: 'owner', scopes: ['*'] })
    expect(reads).toBe(1)
    now = 1000
    await verifier.verify(token)
    expect(reads).toBe(2)
  })

  it('ends within a second of its revocation', async () => {
    await verifier.verify(token)
    set({ revokedAt: 5 })
    now = 1000
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'token_revoked' })
  })

  it('is believed while the database is gone, but not for ever', async () => {
    await verifier.verify(token)
    rows.set('01jd0000000000000000000000', new SvcError('service_unavailable'))
    now = 60_000
    await expect(verifier.verify(token)).resolves.toMatchObject({ kind: 'owner' })
    now = 60_500
    await verifier.verify(token)
    expect(reads).toBe(2)
    now = 16 * 60_000
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'service_unavailable' })
  })

  it('never seen before can’t be checked without the database', async () => {
    rows.set('01jd0000000000000000000000', new SvcError('internal'))
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
    rows.set('01jd0000000000000000000001', kept(apps, { kind: 'app', appId: 'a', scopes: ['svc:llm'] }))
    expect(await verifier.verify(apps)).toMatchObject({
      kind: 'app',
      principal: 'app:a',
      appId: 'a',
      scopes: ['svc:llm'],
    })
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
