import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { empty, json, WireServer } from '../../../test/support/wire-server.js'
import type { operations } from '../../common/src/contract/index.js'
import { type AppClient, Client } from './index.js'

type Operation = (typeof operations)[number]
/** Typed methods that the application listener serves, read from the contract. */
type Served<O = Operation> = O extends { kind: 'route'; name: infer Name; listeners: infer Listeners }
  ? 'app' extends (Listeners extends readonly (infer One)[] ? One : never)
    ? Name
    : never
  : never
type Facing = 'runs' | 'uploads' | 'attachments' | 'shares' | 'questions' | 'grant' | 'providers' | 'health'
type Namespace<Name> = Name extends `${infer Head}.${string}` ? Extract<Head, Facing> : never
type Method<Name, Head extends string> = Name extends `${Head}.${infer Rest}` ? Rest : never
type Equal<A, B> = [A, B] extends [B, A] ? true : false

describe('a client of an application', () => {
  let wire: WireServer

  beforeAll(async () => {
    wire = await WireServer.start()
  })
  afterAll(() => wire.stop())

  it('has what the application listener serves to an application, and nothing else', () => {
    // these are checked by the compiler: `npm run types` fails when they are not so
    const namespaces: Equal<keyof AppClient, Namespace<Served>> = true
    const grant: Equal<keyof AppClient['grant'], Method<Served, 'grant'>> = true
    const health: Equal<keyof AppClient['health'], Method<Served, 'health'>> = true
    // @ts-expect-error: documents are served there too, and are no part of it
    type Documents = AppClient['memory']
    // @ts-expect-error: what the owner does is the owner's
    type Nodes = AppClient['nodes']
    const none: [Documents?, Nodes?] = []
    expect([namespaces, grant, health, none.length]).toEqual([true, true, true, 0])
  })

  it('is what a whole client can be handed out as', async () => {
    const app: AppClient = new Client({ baseUrl: wire.url, token: 'svc_app_x' })
    wire.says(json({ version: 4, status: 'active' }))
    expect(await app.grant.get({ wait: 30, since: 3 })).toMatchObject({ version: 4 })
    expect(wire.only).toMatchObject({ method: 'GET', path: '/v1/grant?wait=30&since=3' })
    expect(Number(wire.only.headers['svc-timeout-ms'])).toBeGreaterThan(30_000)
  })

  it('waits for the grant longer than a call may usually take', async () => {
    const app: AppClient = new Client({ baseUrl: wire.url, token: 'svc_app_x', timeout: 1000 })
    wire.says(json({ version: 4 }))
    await app.grant.get({ wait: 60 })
    expect(Number(wire.only.headers['svc-timeout-ms'])).toBeGreaterThan(60_000)
  })
})

describe('tokens and apps of the owner', () => {
  let wire: WireServer
  let client: Client

  beforeAll(async () => {
    wire = await WireServer.start()
    client = new Client({ baseUrl: wire.url, token: 'svc_own_x' })
  })
  afterAll(() => wire.stop())

  it('are reached by the names and the forms that the contract gives them', async () => {
    wire.says(json({ id: 'tok_x', token: 'svc_app_once' }, 201))
    await client.tokens.create({ app: 'notes', scopes: ['svc:llm'] })
    expect(wire.only).toMatchObject({ method: 'POST', path: '/v1/tokens', body: { app: 'notes', scopes: ['svc:llm'] } })
    expect(wire.only.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/)

    wire.says(json({ version: 2 }))
    await client.apps.grant.set('notes', { scopes: [] })
    expect(wire.only).toMatchObject({ method: 'PUT', path: '/v1/apps/notes/grant', body: { scopes: [] } })

    wire.says(empty())
    await client.tokens.revoke('anything')
    expect(wire.only).toMatchObject({ method: 'DELETE', path: '/v1/tokens/anything' })
  })

  // The first answer was lost with its connection: the secret was in it alone.
  it('say by a null that the answer with the token was lost on the way', async () => {
    const lost = (response: Parameters<ReturnType<typeof json>>[0]) => response.destroy()
    wire.says(lost, json({ id: 'tok_x', token: null }, 201, { 'idempotency-replayed': 'true' }))
    expect((await client.tokens.create({ app: 'notes' })).token).toBeNull()
    const keys = wire.received.map(({ headers }) => headers['idempotency-key'])
    expect(new Set(keys).size).toBe(1)
  })
})
