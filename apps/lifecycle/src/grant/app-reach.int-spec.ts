import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { z } from 'zod'
import { gatesOf, type Operation } from '#common/contract/define.js'
import { operations } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { appPrincipal, type Context, systemContext } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

const scopes = ['svc:act', 'svc:files:rw:user:/tmp', 'svc:llm', 'svc:schedule']
const page = { id: 'a', kind: 'notify', title: 'A' }

let lifecycle: LifecycleUnderTest
let mine: string
let theirs: string
let question: string
let ctx: Context
let other: Context

const ofApp = (appId: string): Context =>
  ownerContext({ actor: { kind: 'app', principal: `app:${appId}`, tokenId: 'tok_2', scopes, appId } })

beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  const apps = [newId('app'), newId('app')] as const
  const grants = apps.map((app_id) => ({ app_id, scopes, profiles: null, version: 1, status: 'active' }))
  await lifecycle.call('lifecycle.grant.changed', { grants }, systemContext('gateway'))
  ;[ctx, other] = [ofApp(apps[0]), ofApp(apps[1])]
  mine = (await lifecycle.create({ lifecycle: 'resident' }, ctx)).id
  theirs = (await lifecycle.create({ lifecycle: 'resident', prompt: 'a needle' }, other)).id
  const asked = await call(entry('human.requests.create'), { title: 'theirs', node_id: theirs }, other)
  question = (asked as { id: string }).id
})
afterAll(() => lifecycle.stop())

/** What the edge parses and hands on, with values where a field is required. */
const inputOf = (entry: Operation, given: Record<string, unknown>): never => {
  const fields = {
    body: 'x',
    prompt: 'x',
    text: 'x',
    value: 1,
    note: 'x',
    name: 'x',
    command: 'true',
    title: 'x',
    pages: [page],
    job_id: newId('job'),
    attachment_id: newId('att'),
    ...given,
  }
  const parts = [entry.params, entry.query, entry.body] as (z.ZodObject | undefined)[]
  const parsed = parts.map((part) => {
    if (!part) return {}
    const known = Object.keys(part.shape ?? {})
    const wanted = Object.entries(fields).filter(([name]) => {
      const field = part.shape?.[name] as z.ZodType | undefined
      return (
        known.includes(name) && (name in given || field?.safeParse(undefined).success === false || known.length < 3)
      )
    })
    return part.parse(Object.fromEntries(wanted)) as object
  })
  return Object.assign({}, ...parsed) as never
}

const call = (entry: Operation, given: Record<string, unknown>, by = ctx): Promise<unknown> =>
  lifecycle.gateway.bus.call(entry, by, inputOf(entry, given))

const all = operations as readonly Operation[]
const served = all.filter(
  ({ name, service, kind }) =>
    service === 'lifecycle' && kind !== 'internal' && !['nodes.events', 'nodes.stream', 'canvas.events'].includes(name),
)
/** Whatever an app's token gets through the gates. */
const reachable = served.filter((entry) => gatesOf(entry).some((gate) => gate === 'own' || gate.startsWith('svc:')))
const entry = (name: string): Operation => all.find((one) => one.name === name) as Operation
const named = (found: readonly Operation[]) => found.map((one) => [one.name, one] as const)

describe('the node of another app', () => {
  it.each(named(reachable.filter(({ path }) => path?.startsWith('/v1/nodes/{id}'))))(
    'is to %s as one that is not there',
    async (_name, operation) => {
      const missing = newId('node')
      const more = operation.name === 'nodes.update' ? { name: 'x' } : {}
      const [hidden, absent] = [
        await failure(call(operation, { ...more, id: theirs })),
        await failure(call(operation, { ...more, id: missing })),
      ]
      expect([hidden.code, hidden.message.replaceAll(theirs, '')]).toEqual([
        'not_found',
        absent.message.replaceAll(missing, ''),
      ])
    },
  )

  it('is as absent as the node of another profile is to a token that is confined to one', async () => {
    const whole = ofApp(newId('app'))
    const grant = { app_id: whole.actor.appId, scopes, profiles: null, version: 1, status: 'active' }
    await lifecycle.call('lifecycle.grant.changed', { grants: [grant] } as never, systemContext('gateway'))
    const appId = whole.actor.appId as string
    const confinedTo = (profile: string): Context => ({
      ...whole,
      actor: { ...whole.actor, profile, principal: appPrincipal(appId, profile) },
    })
    const { id } = await lifecycle.create({ lifecycle: 'resident', prompt: 'a haystack' }, confinedTo('alice'))
    const ask = (node_id: string | undefined) =>
      call(entry('human.requests.create'), { title: id, node_id }, confinedTo('alice'))
    const [byNode, byApp] = (await Promise.all([ask(id), ask(undefined)])) as { id: string }[]
    for (const { id: asked } of [byNode, byApp] as { id: string }[]) {
      const read = (by: Context) => call(entry('human.requests.retrieve'), { id: asked }, by)
      expect((await failure(read(confinedTo('bob')))).code).toBe('not_found')
      expect(await read(confinedTo('alice'))).toMatchObject({ id: asked })
      expect(await read(whole)).toMatchObject({ id: asked })
    }
    const retrieve = (by: Context) => lifecycle.call('nodes.retrieve', { id }, by)
    expect((await failure(retrieve(confinedTo('bob')))).code).toBe('not_found')
    expect((await failure(lifecycle.create({ parent_id: id }, confinedTo('bob')))).code).toBe('not_found')
    expect((await retrieve(confinedTo('alice'))).profile).toBe('alice')
    expect((await retrieve(whole)).profile).toBe('alice')
    const events = (by: Context) => lifecycle.call('lifecycle.canvas.readEvents', { after: '0', limit: 10 }, by)
    const past = { query: 'haystack', pattern: 'haystack', by: 'kind' }
    const views = ['nodes.list', 'canvas.roster', 'canvas.snapshot', 'human.requests.list', 'canvas.attention'].map(
      (name) => (by: Context) => call(entry(name), {}, by),
    )
    const pasts = ['canvas.history.search', 'canvas.history.grep'].map(
      (name) => (by: Context) => call(entry(name), past, by),
    )
    for (const view of [...views, ...pasts, events]) {
      const shown = async (by: Context) => JSON.stringify(await view(by))
      await waitFor(async () => (await shown(confinedTo('alice'))).includes(id))
      expect(await shown(confinedTo('bob'))).not.toContain(id)
    }
  })

  it('is no parent, no end of a subscription, and no node to ask a person for', async () => {
    const subscription = entry('canvas.subscriptions.put')
    for (const ask of [
      () => lifecycle.create({ parent_id: theirs }, ctx),
      () => call(subscription, { subscriber: mine, publisher: theirs }),
      () => call(subscription, { subscriber: theirs, publisher: mine }),
      () => call(entry('human.requests.create'), { node_id: theirs }),
      () => call(entry('canvas.subscriptions.list'), { subscriber: theirs }),
    ])
      expect((await failure(ask())).code).toBe('not_found')
  })

  it('has no events, no text in progress and no history for it', async () => {
    for (const [name, input] of [
      ['lifecycle.node.readEvents', { id: theirs, after: 0 }],
      ['lifecycle.node.readEvents', { id: theirs, after: 0, tree: true }],
      ['lifecycle.node.inProgress', { id: theirs }],
      ['lifecycle.canvas.readEvents', { under: theirs, limit: 10, from: 'oldest' }],
    ] as const)
      expect((await failure(lifecycle.call(name, input, ctx))).code).toBe('not_found')
  })

  it.each(['retrieve', 'replace', 'cancel'])('keeps its questions: human.requests.%s', async (verb) => {
    expect((await failure(call(entry(`human.requests.${verb}`), { id: question }))).code).toBe('not_found')
    expect((await lifecycle.call('human.requests.retrieve', { id: question }, other)).status).toBe('pending')
  })
})

describe('with svc:objects:read of another app', () => {
  const reader = (by: Context): Context => ({
    ...by,
    actor: { ...by.actor, scopes: [...scopes, `svc:objects:read:app:${other.actor.appId}`] },
  })
  const reads = [
    'nodes.retrieve',
    'nodes.outcome',
    'nodes.reports.list',
    'nodes.jobs.list',
    'nodes.faults.list',
  ] as const

  it('its nodes are read, by an app and by a node of it', async () => {
    const byNode: Context = {
      ...nodeContext(mine, 1),
      actor: { ...nodeContext(mine, 1).actor, appId: ctx.actor.appId },
    }
    for (const by of [reader(ctx), reader(byNode)]) {
      for (const name of reads) await call(entry(name), { id: theirs }, by)
      await call(entry('nodes.wait'), { id: theirs, status: ['active'] }, by)
      for (const given of [{ app: other.actor.appId }, { under: theirs }])
        expect(await call(entry('nodes.list'), given, by)).toMatchObject({ data: [{ id: theirs }] })
      const { events } = await lifecycle.call('lifecycle.node.readEvents', { id: theirs, after: 0 }, by)
      expect(events.length).toBeGreaterThan(0)
      // nobody is shown more than it asks for
      expect(JSON.stringify(await call(entry('nodes.list'), {}, by))).not.toContain(theirs)
    }
  })

  it.each(
    named(
      reachable.filter(
        ({ name, path, method }) => path?.startsWith('/v1/nodes/{id}') && method !== 'GET' && name !== 'nodes.wait',
      ),
    ),
  )('%s is refused as before', async (name, operation) => {
    const more = name === 'nodes.update' ? { name: 'x' } : {}
    expect((await failure(call(operation, { ...more, id: theirs }, reader(ctx)))).code).toBe('not_found')
  })

  it('opens nothing of a third one, and nothing to one that is confined to a profile of the same app', async () => {
    const third = ofApp(newId('app'))
    const grant = { app_id: third.actor.appId, scopes, profiles: null, version: 1, status: 'active' }
    await lifecycle.call('lifecycle.grant.changed', { grants: [grant] } as never, systemContext('gateway'))
    const { id } = await lifecycle.create({ lifecycle: 'resident' }, third)
    expect((await failure(call(entry('nodes.retrieve'), { id }, reader(ctx)))).code).toBe('not_found')
    const confined: Context = { ...reader(other), actor: { ...reader(other).actor, profile: 'bob' } }
    expect((await failure(call(entry('nodes.retrieve'), { id: theirs }, confined))).code).toBe('not_found')
  })
})

describe('what an app is shown', () => {
  it('by a position among all events names no node of another, and loses none of its own', async () => {
    const read = (after: string) => lifecycle.call('lifecycle.canvas.readEvents', { after, limit: 10 }, ctx)
    const settled = async (after: string) =>
      waitFor(async () => (({ pending, ...page }) => !pending && page)(await read(after)))
    const first = await settled('0')
    expect(first.events.map(({ subject }) => subject)).toContain(mine)
    expect(Buffer.from(first.position, 'base64url').toString()).not.toMatch(/node_/)
    expect((await settled(first.position)).events).toEqual([])
    await call(entry('nodes.update'), { id: mine, name: 'again' })
    const next = await settled(first.position)
    expect(next.events.map(({ subject }) => subject)).toEqual([mine])
    expect((await settled(next.position)).events).toEqual([])
  })

  it('by the status of the daemon is how many nodes it has itself', async () => {
    expect((await lifecycle.call('lifecycle.status', {}, ctx)).nodes).toEqual({ active: 1 })
  })

  const lists = [
    ['nodes.list', {}],
    ['canvas.roster', {}],
    ['canvas.snapshot', {}],
    ['canvas.attention', {}],
    ['human.requests.list', {}],
    ['canvas.history.search', { query: 'needle' }],
    ['canvas.history.grep', { pattern: 'needle' }],
    ['canvas.history.stats', {}],
  ] as const

  it.each(lists)('by %s is its own, and nothing beneath another’s node', async (name, given) => {
    const shown = JSON.stringify(await call(entry(name), given))
    expect(shown).not.toContain(theirs)
    expect(shown).not.toContain(question)
    const operation = entry(name)
    const takesUnder = [operation.query, operation.body].some(
      (part) => part && 'shape' in part && 'under' in (part.shape as object),
    )
    if (!takesUnder) return
    const beneath = call(operation, { ...given, under: theirs })
    // a list is filtered, and so is empty where there is nothing of its own
    if (name === 'nodes.list') expect(await beneath).toMatchObject({ data: [] })
    else expect((await failure(beneath)).code).toBe('not_found')
  })

  it('is what it has', async () => {
    expect(JSON.stringify(await call(entry('nodes.list'), {}))).toContain(mine)
    expect(JSON.stringify(await call(entry('nodes.list'), {}, other))).toContain(theirs)
  })

  it('counts nothing of another’s', async () => {
    const counts = await lifecycle.call('canvas.attentionCounts', { ids: [mine, theirs] }, ctx)
    expect(counts).toEqual({ counts: { [mine]: 0, [theirs]: 0 } })
    expect(await lifecycle.call('canvas.attentionCounts', { ids: [theirs] }, other)).toEqual({
      counts: { [theirs]: 1 },
    })
  })

  it('by all events is its own', async () => {
    const input = { limit: 200, from: 'oldest' }
    const { events } = await lifecycle.call('lifecycle.canvas.readEvents', input, ctx)
    expect(new Set(events.map(({ subject }) => subject))).toEqual(new Set([mine]))
  })
})
