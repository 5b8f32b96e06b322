import { describe, expect, it } from '@jest/globals'
import { type Gate, gatesOf } from '#common/contract/define.js'
import { routes } from '#common/contract/index.js'
import type { Actor } from '#common/kernel/context.js'
import { type CurrentGeneration, passGates } from './gate.js'

const node = 'node_01jd0000000000000000000000'
const owner: Actor = { kind: 'owner', principal: 'owner', tokenId: 't', scopes: ['*'] }
const agent = (changes: Partial<Actor> = {}): Actor => ({
  kind: 'node',
  principal: `node:${node}`,
  tokenId: 't',
  scopes: ['svc:llm', 'svc:act'],
  nodeId: node,
  generation: 3,
  ...changes,
})
const app = (scopes: string[]): Actor => ({ kind: 'app', principal: 'app:a', tokenId: 't', scopes, appId: 'a' })
const publisher: Actor = { kind: 'pub', principal: 'object:o', tokenId: 't', scopes: [] }
const third: CurrentGeneration = async () => 3

const codeOf = (passing: Promise<void>): Promise<string> =>
  passing.then(
    () => 'open',
    (error: { code: string }) => error.code,
  )

describe('a gate', () => {
  it.each([
    [['own'], app([]), 'open'],
    [['own'], publisher, 'publish_token_only'],
    [['svc:act'], publisher, 'publish_token_only'],
    [['bearer'], publisher, 'open'],
    [['app'], app([]), 'open'],
    [['app'], owner, 'app_token_required'],
    [['app'], agent(), 'app_token_required'],
    [['owner'], owner, 'open'],
    [['owner'], agent({ scopes: ['*'] }), 'owner_required'],
    [['svc:act'], agent(), 'open'],
    [['svc:act'], owner, 'open'],
    [['svc:act'], app(['svc:llm']), 'scope_missing'],
    [['svc:act'], app([]), 'scope_missing'],
    [['self'], agent(), 'open'],
    [['self'], owner, 'node_token_required'],
    [['self'], agent({ nodeId: 'node_01jd0000000000000000000001' }), 'node_token_required'],
    [['self', 'svc:act'], app(['svc:act']), 'open'],
    [['self', 'svc:act'], agent({ scopes: [] }), 'open'],
    [['self', 'svc:act'], app([]), 'scope_missing'],
    [['broker'], agent(), 'open'],
    [['broker'], agent({ generation: 2 }), 'stale_generation'],
    [['broker'], owner, 'node_token_required'],
    [[], owner, 'node_token_required'],
  ] as const)('%j for %j: %s', async (gates, actor, answer) => {
    expect(await codeOf(passGates(gates, actor, node, third))).toBe(answer)
  })

  it('of a broker asks the writer again before it refuses a newer generation', async () => {
    const asked: boolean[] = []
    const behind: CurrentGeneration = async (_id, fresh) => {
      asked.push(fresh)
      return fresh ? 4 : 3
    }
    expect(await codeOf(passGates(['broker'], agent({ generation: 4 }), node, behind))).toBe('open')
    expect(asked).toEqual([false, true])
  })
})

describe('every entry of the contract', () => {
  const bearer: Actor = { kind: 'run', principal: 'p', tokenId: 't', scopes: [] }

  it.each(routes.map((entry) => [entry.name, entry] as const))(
    '%s is closed to a token that may do nothing, or says that it is open',
    async (_name, entry) => {
      const gates = gatesOf(entry)
      const free = ['open', 'bearer', 'own'].some((gate) => gates.includes(gate as Gate))
      expect(await codeOf(passGates(gates, bearer, node, third))).toMatch(
        free ? /^open$/ : /^(scope_missing|owner_required|node_token_required|app_token_required)$/,
      )
    },
  )
})
