import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { routes } from '#common/contract/index.js'
import { waitFor } from '#common/testing/wait-for.js'
import { shape } from './matrix.request.js'
import { table } from './route.table.js'
import { TrustStage, type Voice } from './trust.stage.js'

let stage: TrustStage
beforeAll(async () => {
  stage = await TrustStage.start()
  stage.mock.always({ text: 'Done.' })
})
afterAll(() => stage.stop())

const acting = ['svc:act', 'svc:llm']
const waits = { prompt: 'wait', engine: 'exec', exec: { argv: ['cat'] } }

/** An app that may write one directory of the person's. */
const withPlace = async (more: readonly string[] = []) => {
  const place = stage.directory()
  const scopes = [...acting, `svc:files:rw:user:${place}`, ...more].sort()
  const id = await stage.app(scopes)
  return { id, place, scopes, ask: await stage.asApp(id) }
}
const makes = async (ask: Voice, cwd: string, more: object = {}) => ask('POST /v1/nodes', { ...waits, cwd, ...more })
const peek = (ask: Voice, path: string) => ask(`GET /v1/files/peek?path=${encodeURIComponent(path)}`)
const put = (ask: Voice, path: string) => ask('POST /v1/files/write', { path, content: 'x' })

describe('what an app makes', () => {
  it('has what its token holds when no list is given, and no more when one is', async () => {
    const { id, place, scopes, ask } = await withPlace(['svc:schedule'])
    expect((await makes(ask, place)).body.scopes).toEqual(scopes)

    const less = await stage.asApp(id, [...acting, `svc:files:rw:user:${place}`])
    expect((await makes(less, place)).body.scopes).not.toContain('svc:schedule')
    const more = await makes(less, place, { scopes: [...acting, 'svc:schedule'] })
    expect([more.status, more.body.code, more.body.scopes]).toEqual([403, 'scope_exceeds_ceiling', ['svc:schedule']])
  })

  it('is of the app, and nobody else’s', async () => {
    const [one, two] = [await withPlace(), await withPlace()]
    const mine = (await makes(one.ask, one.place)).body
    const owners = await stage.waiting()
    expect([mine.app_id, owners.app_id]).toEqual([one.id, null])

    for (const { id } of [mine, owners]) {
      expect((await two.ask(`GET /v1/nodes/${id}`)).status).toBe(404)
      for (const act of [`POST /v1/nodes/${id}/cancel`, `POST /v1/nodes/${id}/fork`])
        expect((await two.ask(act, {})).body.code).toBe('not_found')
      expect((await two.ask(`POST /v1/nodes/${id}/message`, { body: 'hello' })).body.code).toBe('not_found')
    }
    expect((await one.ask(`GET /v1/nodes/${mine.id}`)).status).toBe(200)
    expect((await two.ask('GET /v1/nodes')).body.data).toEqual([])
  })

  it('reaches its own subtree alone, not the other nodes of its app', async () => {
    const { place, ask } = await withPlace()
    const [one, two] = [(await makes(ask, place)).body, (await makes(ask, place)).body]
    const asOne = await stage.asNode(one.id)

    expect((await asOne(`GET /v1/nodes/${one.id}`)).status).toBe(200)
    expect((await asOne(`GET /v1/nodes/${two.id}`)).status).toBe(404)
    expect((await asOne(`POST /v1/nodes/${two.id}/cancel`, {})).body.code).toBe('not_found')
  })

  it('works where the app may write, and nowhere else of the person’s', async () => {
    const { id, place, ask } = await withPlace()
    const elsewhere = stage.directory()
    const reader = await stage.app([...acting, `svc:files:read:user:${elsewhere}`])
    const tries: [Voice, string][] = [
      [ask, elsewhere],
      [ask, join(place, '..')],
      [await stage.asApp(id, acting), place],
      [await stage.asApp(reader), elsewhere],
    ]
    for (const [voice, cwd] of tries) {
      const { status, body } = await makes(voice, cwd)
      expect([status, body.code]).toEqual([403, 'path_outside_scope'])
    }
  })

  it('is led nowhere by a link that one of its nodes left in its directory', async () => {
    const { place, ask } = await withPlace()
    const secret = stage.directory()
    symlinkSync(secret, join(place, 'link'))

    const { body } = await makes(ask, join(place, 'link'), { exec: { argv: ['touch', 'made'] }, lifecycle: 'terminal' })

    const outcome = await stage.client.nodes.waitForOutcome(body.id)
    expect(outcome.status).toBe('dead')
    expect(JSON.stringify(outcome.error)).toContain("doesn't see it")
    expect(existsSync(join(secret, 'made'))).toBe(false)
  })
})

describe('a node of somebody else', () => {
  /** Every route on a node whose gate an app with every scope passes, or a node does. */
  const onNodes = routes.filter(
    ({ name, path }) =>
      path?.startsWith('/v1/nodes/{id}') && ['holder', 'scope', 'selfOr'].includes(table[name]?.passes.by ?? ''),
  )

  let others: string[]
  let voices: Voice[]
  beforeAll(async () => {
    const [app, other] = [await withPlace(), await withPlace()]
    others = [(await makes(other.ask, other.place)).body.id, (await stage.waiting()).id]
    voices = [app.ask, await stage.asNode((await makes(app.ask, app.place)).body.id)]
  })

  it.each(onNodes.map((entry) => [entry.name, entry] as const))('is not there: %s', async (_name, entry) => {
    for (const id of others) {
      for (const voice of voices) {
        const { path, body } = shape(entry, id)
        const { status, body: problem } = await voice(`${entry.method} ${path}`, body && JSON.parse(body))
        expect([status, problem?.code]).toEqual([404, 'not_found'])
      }
    }
  })

  it('is watched by nobody', async () => {
    const { place, ask } = await withPlace()
    const [mine, owners] = [(await makes(ask, place)).body, await stage.waiting()]
    const pair = (subscriber: string, publisher: string) =>
      ask('PUT /v1/canvas/subscriptions', { subscriber, publisher })

    expect((await pair(mine.id, owners.id)).body.code).toBe('not_found')
    expect((await pair(owners.id, mine.id)).body.code).toBe('not_found')
  })

  it('asks nobody in its name, and has no child put beneath it', async () => {
    const { place, ask } = await withPlace()
    const owners = await stage.waiting()
    const question = { kind: 'deck', title: 'Which way?', pages: [{ id: 'p', kind: 'notify', title: 'This way' }] }

    expect((await ask('POST /v1/human/requests', { ...question, node_id: owners.id })).body.code).toBe('not_found')
    expect((await makes(ask, place, { parent_id: owners.id })).body.code).toBe('not_found')
  })
})

describe('what an app reads and writes itself', () => {
  it('is what its scopes name, by the files routes', async () => {
    const { place, ask, id } = await withPlace()
    const [readable, other] = [stage.directory(), stage.directory()]
    for (const path of [place, readable, other]) writeFileSync(join(path, 'note'), 'kept')
    const reader = await stage.asApp(await stage.app([...acting, `svc:files:read:user:${readable}`]))

    expect((await peek(ask, join(place, 'note'))).body.content).toBe('kept')
    expect((await put(ask, join(place, 'new'))).status).toBe(200)
    expect((await peek(reader, join(readable, 'note'))).body.content).toBe('kept')
    expect((await put(reader, join(readable, 'note'))).status).toBe(403)
    const nothing = await stage.asApp(id, acting)
    for (const voice of [ask, reader, nothing]) {
      expect((await peek(voice, join(other, 'note'))).body.code).toBe('path_outside_scope')
      expect((await put(voice, join(other, 'new'))).body.code).toBe('path_outside_scope')
    }
    expect(readFileSync(join(readable, 'note'), 'utf8')).toBe('kept')
  })

  it('is not what a link in its directory leads to', async () => {
    const { place, ask } = await withPlace()
    const other = stage.directory()
    writeFileSync(join(other, 'note'), 'secret')
    symlinkSync(other, join(place, 'way'))

    expect((await peek(ask, join(place, 'way/note'))).status).toBe(403)
    expect((await put(ask, join(place, 'way/new'))).status).toBe(403)
    expect(existsSync(join(other, 'new'))).toBe(false)
  })

  it('is never by a command of its own: its nodes have a sandbox, it has none', async () => {
    const { place, ask } = await withPlace()

    const { status, body } = await ask('POST /v1/bash', { cwd: place, command: 'touch made' })

    expect([status, body.code]).toEqual([403, 'node_token_required'])
    expect(existsSync(join(place, 'made'))).toBe(false)
  })
})

describe('a grant that is narrowed', () => {
  it('cuts the next scoped action of a node that runs, and what it makes', async () => {
    const { id, place, scopes, ask } = await withPlace()
    const node = (await makes(ask, place)).body
    const asNode = await stage.asNode(node.id)
    const call = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Two and two?' }] }] }
    expect((await asNode('POST /v1/llm', call)).status).toBe(200)
    expect((await makes(asNode, place)).status).toBe(201)

    const narrowed = await stage.owner(`PUT /v1/apps/${id}/grant`, { scopes: ['svc:llm'] })
    expect(narrowed.status).toBe(200)

    const refused = await waitFor(
      async () => {
        const answer = await makes(asNode, place)
        return answer.status === 403 && answer
      },
      { timeout: 1000, what: 'the refusal' },
    )
    expect(refused.body).toMatchObject({ code: 'scope_missing', scope: 'svc:act' })
    expect((await asNode('POST /v1/llm', call)).status).toBe(200)
    // its own list is what it was: it is the grant that holds less
    expect((await stage.client.nodes.retrieve(node.id)).scopes).toEqual(scopes)
  })
})
