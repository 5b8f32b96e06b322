import 'reflect-metadata'
import type { GrantRepository } from '#apps/gateway/src/apps/grant.repository.js'
import { Grants } from '#apps/gateway/src/apps/grants.js'
import type { NodePrincipals } from '#apps/gateway/src/tokens/node.principals.js'
import type { TokenRecord, TokenRepository } from '#apps/gateway/src/tokens/token.repository.js'
import { TokenUse } from '#apps/gateway/src/tokens/token.use.js'
import { TokenVerifier } from '#apps/gateway/src/tokens/token.verifier.js'
import type { TrustTail } from '#apps/gateway/src/trust/trust.tail.js'
import { systemClock } from '#common/kernel/clock.js'
import { createLogger } from '#common/kernel/log.js'
import { covers } from '#common/kernel/scopes.js'
import { deriveNodeToken, hashToken, mintToken } from '#common/kernel/tokens.js'
import { serveTasks } from './worker.js'

const suffix = '01jd0000000000000000000000'
const app = mintToken('app', suffix)
const key = Buffer.alloc(32, 7)
const node = deriveNodeToken(key, `node_${suffix}`, 1)
const fifty = [
  'svc:act',
  'svc:llm',
  ...Array.from({ length: 48 }, (_, at) => `svc:files:rw:user:/home/person/place-${at}`),
]

const record: TokenRecord = {
  id: `tok_${suffix}`,
  kind: 'app',
  hash: hashToken(app),
  label: null,
  appId: `app_${suffix}`,
  profile: null,
  objectRef: null,
  scopes: fifty,
  followsGrant: false,
  createdAt: 0,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  rotatedFrom: null,
}

/** What stands behind the caches answers at once: what is measured is the check of a token that was seen before. */
const verifierOf = (): TokenVerifier => {
  const tail = { listen: () => undefined } as unknown as TrustTail
  const tokens = { find: async () => record, used: async () => undefined } as unknown as TokenRepository
  const grant = { appId: `app_${suffix}`, scopes: fifty, profiles: null, version: 1, status: 'active', updatedAt: 0 }
  const place = { cwd: '/srv', host_id: null, git_dir: null }
  const principal = { generation: 1, ended: false, scopes: ['svc:act', 'svc:llm'], app_id: null, profile: null, place }
  return new TokenVerifier(
    tokens,
    { of: async () => principal } as unknown as NodePrincipals,
    key,
    new TokenUse(tokens, systemClock, createLogger('bench', 'silent')),
    new Grants({ find: async () => grant } as unknown as GrantRepository, tail, systemClock),
    tail,
    systemClock,
  )
}

/** Microseconds that one takes, of so many. */
const each = async (count: number, work: (at: number) => unknown): Promise<number> => {
  const began = performance.now()
  for (let at = 0; at < count; at += 1) await work(at)
  return ((performance.now() - began) * 1000) / count
}

const verifier = verifierOf()
const text = JSON.stringify(fifty)
/** Beneath one that stands far behind in the list. */
const wanted = 'svc:files:read:user:/home/person/place-40/notes'

/** The checks by themselves, in µs. */
const tasks = {
  appToken: ({ count }: { count: number }) => each(count, () => verifier.use(app)),
  nodeToken: ({ count }: { count: number }) => each(count, () => verifier.use(node)),
  /** By a list that is held, as a gate's is. */
  scope: ({ count }: { count: number }) => {
    const began = performance.now()
    for (let at = 0; at < count; at += 1) covers(fifty, wanted)
    return ((performance.now() - began) * 1000) / count
  },
  /** Each list is one that just came over the bus; a few at a time, so that they are no weight on the memory. */
  freshScope: ({ count }: { count: number }) => {
    let took = 0
    for (let done = 0; done < count; done += 100) {
      const lists = Array.from({ length: 100 }, () => JSON.parse(text) as string[])
      const began = performance.now()
      for (const list of lists) covers(list, wanted)
      took += performance.now() - began
    }
    return (took * 1000) / count
  },
}
export type CheckTasks = typeof tasks
serveTasks(tasks)
