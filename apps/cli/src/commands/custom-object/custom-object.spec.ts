import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json, problem } from '../../../../../test/support/wire-server.js'

const id = 'obj_01jd0000000000000000000000'
const node = 'node_01jd0000000000000000000000'
const delivery = 'dlv_01jd0000000000000000000000'
const at = '2026-01-01T00:00:00.000Z'
const schema = { type: 'object', properties: { id: { type: 'number' }, log: { type: 'string' } }, required: ['id'] }
const object = {
  id,
  name: 'build-server',
  description: 'the one in the cellar',
  catalog: [{ event: 'build.failed', description: 'a build failed', payload_schema: schema }],
  catalog_version: 1,
  receiver: null,
  receiver_state: null,
  watchers: 2,
  published: 7,
  app_id: null,
  created_by: { kind: 'owner', id: null },
  version: 3,
  created_at: at,
  updated_at: at,
}
const url = { type: 'url', url: 'https://chat.example/hook', allow_private: false, max_pending: 100 }
const state = { status: 'paused', reason: 'dead', paused_at: at, pending: 9, failed: 2, dead: 1 }
const page = (data: unknown[], more = {}) => json({ data, next_cursor: null, has_more: false, ...more })

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
  writeFileSync(join(svc.dataDir, 'failed.json'), JSON.stringify(schema))
  writeFileSync(join(svc.dataDir, 'events.json'), JSON.stringify([{ event: 'a', description: 'x' }]))
})
afterAll(() => svc.stop())

const run = (...args: string[]) => svc.run(['custom-object', ...args])
const sent = async (...args: string[]): Promise<unknown> => {
  wire.says(json(object))
  expect(await run(...args)).toMatchObject({ code: 0 })
  return wire.received.at(-1)?.body
}

describe('svc custom-object register', () => {
  it('sends what it publishes, what it watches, and one receiver', async () => {
    expect(await sent('register', 'x', '--event', 'a', '--event', 'b:c=failed.json')).toEqual({
      name: 'x',
      catalog: [{ event: 'a' }, { event: 'b:c', payload_schema: schema }],
    })
    expect(await sent('register', 'x', '--catalog', 'events.json', '--event', 'b={"type":"null"}')).toEqual({
      name: 'x',
      catalog: [
        { event: 'a', description: 'x' },
        { event: 'b', payload_schema: { type: 'null' } },
      ],
    })
    expect(
      await sent('register', 'x', '--watch', 'build-server=a, b', '--watch', node, '--queue', '--max-pending', '5'),
    ).toEqual({
      name: 'x',
      watches: [{ source: 'build-server', events: ['a', 'b'] }, { source: node }],
      receiver: { type: 'queue', max_pending: 5 },
    })
    expect(await sent('register', 'x', '--url', url.url, '--allow-private', '--app', 'notes', '--rotate')).toEqual({
      name: 'x',
      receiver: { type: 'url', url: url.url, allow_private: true },
      app: 'notes',
      rotate: true,
    })
    expect(await sent('register', 'x', '--env', 'A=b', '--', './lamp.sh', '--json')).toEqual({
      name: 'x',
      receiver: { type: 'argv', argv: ['./lamp.sh', '--json'], cwd: svc.dataDir, env: { A: 'b' } },
    })
    expect(wire.only).toMatchObject({ method: 'POST', path: '/v1/custom-objects' })
  })

  it('watches a source that is named twice once, for all that was said of it', async () => {
    const watched = ['a=x', 'b=x', 'a=y, x', 'b', 'b=y'].flatMap((source) => ['--watch', source])
    expect(await sent('register', 'x', '--queue', ...watched)).toMatchObject({
      watches: [{ source: 'a', events: ['x', 'y'] }, { source: 'b' }],
    })
    expect(((await sent('register', 'x', ...watched)) as { watches: object[] }).watches[1]).toEqual({ source: 'b' })
  })

  it('shows the object, and its secrets once, in words', async () => {
    const secrets = { publish_token: 'svc_pub_x', signing_secret: 'whsec_x' }
    wire.says(json({ ...object, receiver: url, receiver_state: state, ...secrets }, 201))
    const { out } = await run('register', 'build-server', '--url', url.url)
    expect(out).toMatch(/build\.failed +\{id, log\?\} +a build failed/)
    expect(out).toMatch(/publish token.* is shown this once:\n {2}svc_pub_x\n/)
    expect(out).toMatch(/signed with.* is shown this once:\n {2}whsec_x\n/)
    wire.says(json({ ...object, publish_token: null, signing_secret: null }, 201))
    expect((await run('register', 'build-server')).out).toContain(
      'svc custom-object rotate build-server gives it a new',
    )
    const lost =
      /^Its signing secret was in an answer that was lost: .* rotate \S+ --signing-secret gives it a new one\.$/m
    wire.says(json({ ...object, receiver: url, receiver_state: state, publish_token: null, signing_secret: null }, 201))
    expect((await run('register', 'build-server', '--url', url.url)).out).toMatch(lost)
    wire.says(json({ publish_token: null, signing_secret: null }))
    expect((await run('rotate', 'build-server', '--signing-secret')).out).toMatch(lost)
    // the one that its consumer has would end with a rotation that says nothing of it
    wire.says(json({ publish_token: null, signing_secret: null }))
    expect((await run('rotate', 'build-server', '--signing-secret', '--overlap', '1d')).out).toContain(
      'svc custom-object rotate build-server --signing-secret --overlap 1d gives it a new one.',
    )
  })

  it.each([
    [['--queue', '--url', url.url], 'one receiver, and here are --queue, --url'],
    [['--queue', '--', 'true'], '--queue, a program after --'],
    [['--queue', '--allow-private'], 'goes with --url'],
    [['--queue', '--cwd', '/'], 'a program after --'],
    [['--max-pending', '3'], '--queue'],
    [['--event', 'a=none.json'], 'cannot read none.json'],
    [['--event', 'a=[1]'], 'no JSON Schema'],
    [['--catalog', '{}'], 'no list of events'],
    [['--watch', 'y='], 'lacks a name of an event'],
  ])('sends nothing for %j, and says how it is said', async (args, how) => {
    wire.says(json(object))
    const { code, err } = await run('register', 'x', ...args)
    expect([code, err]).toEqual([2, expect.stringContaining(how)])
    expect(wire.received).toHaveLength(0)
  })

  it('is a conflict when the name is taken', async () => {
    wire.says(problem(409, { code: 'already_exists', detail: 'no' }))
    expect((await run('register', 'x')).code).toBe(4)
  })
})

describe('svc custom-object update', () => {
  it('sends what is to be changed', async () => {
    expect(await sent('update', 'x', '--description', 'new', '--if-match', '3', '--force')).toEqual({
      description: 'new',
      if_match: 3,
      force: true,
    })
    expect(await sent('update', 'x', '--no-receiver')).toEqual({ receiver: null })
    expect(await sent('update', 'x', '--url', url.url)).toEqual({ receiver: { type: 'url', url: url.url } })
    expect(await sent('update', 'x', '--catalog', '[]')).toEqual({ catalog: [] })
    expect(wire.only).toMatchObject({ method: 'PATCH', path: '/v1/custom-objects/x' })
  })

  it('adds, changes and drops single events of the catalog as it was read', async () => {
    const more = { event: 'build.started', description: '', payload_schema: {} }
    wire.says(json({ ...object, catalog: [...object.catalog, more] }), json({ ...object, signing_secret: null }))
    const change = ['--event', 'build.failed={}', '--event', 'build.skipped', '--drop-event', 'build.started']
    expect((await run('update', 'build-server', ...change)).code).toBe(0)
    expect(wire.received[1]?.body).toEqual({
      catalog: [
        { event: 'build.failed', description: 'a build failed', payload_schema: {} },
        { event: 'build.skipped' },
      ],
      if_match: 3,
    })
  })

  it('changes how many may wait, and leaves the receiver what it is', async () => {
    const changed = json({ ...object, signing_secret: null })
    wire.says(json({ ...object, receiver: url }), changed)
    expect((await run('update', 'build-server', '--max-pending', '10')).code).toBe(0)
    expect(wire.received.at(-1)?.body).toEqual({ receiver: { ...url, max_pending: 10 }, if_match: 3 })
    wire.says(json({ ...object, receiver: url }), changed)
    await run('update', 'build-server', '--max-pending', '10', '--event', 'b', '--if-match', '2')
    expect(wire.received).toHaveLength(2)
    expect(wire.received[1]?.body).toMatchObject({
      catalog: [...object.catalog, { event: 'b' }],
      receiver: { max_pending: 10 },
      if_match: 2,
    })
    wire.says(json(object))
    const { code, err } = await run('update', 'build-server', '--max-pending', '10')
    expect([code, err]).toEqual([2, expect.stringContaining('build-server has no receiver')])
  })

  it('names each difference that would break somebody', async () => {
    const message = 'Receivers may count on it.'
    const differences = [
      { event: 'build.failed', pointer: '/properties/id', breaks: ['receivers'], message },
      { event: 'build.started', pointer: '', breaks: ['publishers'], message },
    ]
    wire.says(problem(409, { code: 'catalog_incompatible', detail: 'no', differences }))
    const { code, err } = await run('update', 'build-server', '--catalog', '[]')
    expect(code).toBe(4)
    expect(err).toContain(`  build.failed /properties/id: ${message}\n  build.started: ${message}\n`)
  })

  it.each([
    [[], 'name what'],
    [['--if-match', '3'], 'name what'],
    [['--queue', '--no-receiver'], '--no-receiver'],
    [['--max-pending', '3', '--no-receiver'], '--no-receiver'],
    [['--catalog', '[]', '--event', 'a'], '--catalog names all events'],
    [['--drop-event', 'build.begun'], 'it declares build.failed'],
  ])('changes nothing for %j, and says how it is said', async (args, how) => {
    wire.says(json(object))
    const { code, err } = await run('update', 'build-server', ...args)
    expect([code, err]).toEqual([2, expect.stringContaining(how)])
    expect(wire.received.filter(({ method }) => method !== 'GET')).toHaveLength(0)
  })
})

describe('svc custom-object', () => {
  const ref = '/v1/custom-objects/build-server'
  it.each<[string[], string, string, unknown]>([
    [['list', '--app', 'app_x', '--limit', '5'], 'GET', '/v1/custom-objects?limit=5&app_id=app_x', undefined],
    [['show', 'build-server'], 'GET', ref, undefined],
    [['unregister', 'build-server'], 'DELETE', ref, undefined],
    [['rotate', 'build-server', '--overlap', '1h'], 'POST', `${ref}/rotate`, { overlap: 3600 }],
    [['rotate', 'build-server', '--signing-secret'], 'POST', `${ref}/rotate`, { what: 'signing_secret' }],
    [['pause', 'build-server'], 'POST', `${ref}/pause`, undefined],
    [['resume', 'build-server'], 'POST', `${ref}/resume`, undefined],
    [['ack', 'build-server', delivery, 'dlv_2'], 'POST', `${ref}/ack`, { ids: [delivery, 'dlv_2'] }],
    [['deliveries', 'build-server', '--state', 'dead'], 'GET', `${ref}/deliveries?state=dead`, undefined],
    [['replay', 'build-server', '--all'], 'POST', `${ref}/deliveries/replay`, {}],
    [['replay', 'build-server', delivery], 'POST', `${ref}/deliveries/replay`, { ids: [delivery] }],
    [['events', 'build-server', '--event', 'a'], 'GET', `${ref}/events?event=a`, undefined],
    [['types', 'build-server'], 'GET', `${ref}/types`, undefined],
    [['asyncapi', 'build-server'], 'GET', `${ref}/asyncapi`, undefined],
    [
      ['watch', 'build-server', '--by', node, '--events', 'a,b', '--tier', 'urgent'],
      'PUT',
      '/v1/canvas/watches',
      { watcher: node, source: 'build-server', events: ['a', 'b'], tier: 'urgent' },
    ],
    [
      ['unwatch', 'build-server', '--by', node],
      'DELETE',
      `/v1/canvas/watches?watcher=${node}&source=build-server`,
      undefined,
    ],
  ])('%j is %s %s', async (args, method, path, body) => {
    const answer = { data: [], next_cursor: null, has_more: false }
    wire.says(json(answer))
    const { code, out } = await run(...args, '--json')
    expect([code, JSON.parse(out)]).toEqual([0, answer])
    expect(wire.only).toMatchObject({ method, path })
    expect(wire.only.body).toEqual(body)
  })

  it('shows objects in a table, and one with what waits and why', async () => {
    wire.says(page([object, { ...object, name: 'chat', receiver: url, receiver_state: state }]))
    const { out } = await run('list')
    expect(out).toMatch(/^build-server +obj_\w+ +1 +2 +7 +- +-$/m)
    expect(out).toMatch(/^chat .* 9 \(paused\) +url https:\/\/chat\.example\/hook$/m)
    wire.says(json({ ...object, name: 'chat', receiver: url, receiver_state: state }))
    const shown = (await run('show', 'chat')).out
    expect(shown).toMatch(
      /^status +paused by itself: a delivery ran out of tries; svc custom-object resume chat goes on$/m,
    )
    expect(shown).toMatch(/^waiting +9 of at most 100 \(2 to be tried again, 1 given up\)$/m)
  })

  it('says what became of deliveries, and what of an acknowledgement was not new', async () => {
    const fields = {
      source_ref: id,
      source_name: 'build-server',
      event: 'build.failed',
      payload: {},
      seq: 4,
      trace_id: null,
    }
    const failed = { state: 'failed', attempt: 2, next_attempt_at: at, last_error: 'The address answered 500.' }
    wire.says(page([{ id: delivery, object_ref: id, event_id: 'evt_x', created_at: at, ...fields, ...failed }]))
    expect((await run('deliveries', 'chat')).out).toMatch(
      /^4 +dlv_\w+ +failed +build\.failed +build-server +2 +in 0s +The address answered 500\.$/m,
    )
    wire.says(json({ acknowledged: 1, unknown: ['dlv_x'] }))
    const { out, err } = await run('ack', 'chat', delivery, 'dlv_x', 'dlv_y')
    expect([out, err]).toEqual(['1 acknowledged\n', '1 had been before\nno deliveries of chat: dlv_x\n'])
    for (const args of [[], ['--all', delivery]]) expect((await run('replay', 'chat', ...args)).code).toBe(2)
  })

  it('says what of a replay was not given up', async () => {
    wire.says(json({ replayed: 1 }))
    const { out, err } = await run('replay', 'chat', delivery, 'dlv_x', delivery)
    expect([out, err]).toEqual([
      '1 tried again\n',
      '1 of the 2 had not been given up: svc custom-object deliveries chat --state dead lists those that are\n',
    ])
    wire.says(json({ replayed: 0 }))
    expect((await run('replay', 'chat', 'dlv_x')).err).toContain('dlv_x had not been given up: ')
    wire.says(json({ replayed: 0 }))
    expect((await run('replay', 'chat', '--all')).err).toBe('')
  })

  it('says plainly whether a receiver is paused now, and who watches whom no more', async () => {
    const chat = { ...object, name: 'chat', receiver: url }
    wire.says(json({ ...chat, receiver_state: state }))
    expect((await run('pause', 'chat')).out).toBe('chat  paused: 9 deliveries wait\n')
    wire.says(json({ ...chat, receiver_state: { ...state, status: 'active', reason: null, pending: 1 } }))
    expect((await run('resume', 'chat')).out).toBe('chat  active: 1 delivery waits\n')
    wire.says(json({ removed: true }))
    expect((await run('unwatch', 'build-server', '--by', 'lamp')).out).toBe('lamp  watches build-server no more\n')
    wire.says(json({ removed: false }))
    expect((await run('unwatch', 'build-server', '--by', 'lamp')).out).toBe('lamp  did not watch build-server\n')
  })

  it('shows no escape of a description', async () => {
    const catalog = [{ ...object.catalog[0], description: 'b\x1b[8mc' }]
    wire.says(json({ ...object, description: 'a\x1b]0;t\x07\u202eb\x1b[31m\nreceiver  -', catalog }))
    const { out } = await run('show', 'build-server')
    expect(out).not.toMatch(/[\x1b\x07\u202e]/)
    expect(out).toMatch(/^description +a\]0;tb\n {13}receiver {2}-$/m)
  })

  it('shows who watches an object and what it watches, by name', async () => {
    const fields = { created_by: object.created_by, created_at: at, tier: 'normal' }
    const mail = {
      watcher: node,
      watcher_name: 'lead',
      source: id,
      source_name: 'build-server',
      events: null,
      ...fields,
    }
    const own = { watcher: id, watcher_name: 'build-server', source: 'obj_y', source_name: 'clock', events: ['tick'] }
    wire.says(page([mail]), page([{ ...own, ...fields }]))
    const { out } = await run('watchers', 'build-server')
    expect(out).toMatch(new RegExp(`^watched by +lead \\(${node}\\) +each event +normal`, 'm'))
    expect(out).toMatch(/^watches +clock \(obj_y\) +tick +-/m)
  })

  it('writes types and AsyncAPI to a file or to the output', async () => {
    wire.says(json({ typescript: 'export type A = 1\n' }))
    expect((await run('types', 'build-server')).out).toBe('export type A = 1\n')
    expect((await run('types', 'build-server', '--out', 'types.ts')).out).toBe('')
    expect(readFileSync(join(svc.dataDir, 'types.ts'), 'utf8')).toBe('export type A = 1\n')
    wire.says(json({ asyncapi: '3.0.0' }))
    expect(JSON.parse((await run('asyncapi', 'build-server')).out)).toEqual({ asyncapi: '3.0.0' })
    expect((await run('asyncapi', 'build-server', '--out', 'none/x.json')).code).toBe(2)
  })

  it('has for agents what they may do, and for the holder of a publish token to publish', async () => {
    const listed = async (env: Record<string, string>) => {
      const { out } = await svc.run(['custom-object', '--help'], { env })
      return [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)
    }
    const inside = { SVC_NODE_ID: node, SVC_TOKEN: 'svc_node_x' }
    const reads = ['events', 'types', 'asyncapi', 'watchers', 'list', 'show', 'help']
    expect((await listed({ ...inside, SVC_SCOPES: 'svc:llm' })).sort()).toEqual(reads.sort())
    const acts = [...reads, 'publish', 'watch', 'unwatch']
    expect((await listed({ ...inside, SVC_SCOPES: 'svc:act svc:llm' })).sort()).toEqual(acts.sort())
    wire.says(json({ kind: 'pub', scopes: [] }))
    expect(await listed({ SVC_TOKEN: 'svc_pub_x' })).toEqual(['publish', 'help'])
    const { code, err } = await svc.run(['custom-object', 'list'], { env: { SVC_TOKEN: 'svc_pub_x' } })
    expect([code, err]).toEqual([6, expect.stringContaining('publish_token_only')])
  })
})
