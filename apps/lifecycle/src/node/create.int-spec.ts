import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { newId } from '#common/kernel/ids.js'
import { LifecycleUnderTest, nodeContext, ownerContext, ready } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

describe('create', () => {
  it('makes a root: resident, base, of kind general, named after it, with the scopes of a run', async () => {
    const node = await lifecycle.create()
    expect(node).toMatchObject({
      name: 'general',
      kind: 'general',
      mode: 'base',
      lifecycle: 'resident',
      status: 'active',
      intent: null,
      parent_id: null,
      root_id: node.id,
      engine: 'exec',
      cwd: '/tmp',
      model: { strength: 'medium' },
      scopes: ['svc:act', 'svc:llm', 'svc:memory:rw:user', 'svc:schedule'],
      scopes_explicit: false,
      cycles: 1,
      generation: 1,
      engagement: 1,
      version: 1,
      streaming: false,
      fault: null,
      usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0, context_tokens: 0 },
    })
    const { version: _, updated_at: __, ...rest } = node
    expect(await lifecycle.retrieve(node.id)).toMatchObject(rest)
  })

  it('makes a child: terminal, in the directory, with the model and the scopes of its parent', async () => {
    const parent = await lifecycle.create({ cwd: '/var', model: { strength: 'strong' }, scopes: ['svc:llm'] })
    const child = await lifecycle.create({ parent_id: parent.id })
    expect(child).toMatchObject({
      lifecycle: 'terminal',
      cwd: '/var',
      parent_id: parent.id,
      root_id: parent.id,
      model: { strength: 'strong' },
      scopes: ['svc:llm'],
    })
  })

  it('makes a child of the node whose token asks, and a root when it says so', async () => {
    const parent = await lifecycle.create()
    const ctx = nodeContext(parent.id)
    expect(await lifecycle.create({}, ctx)).toMatchObject({ parent_id: parent.id, spawned_by: parent.id })
    expect(await lifecycle.create({ root: true }, ctx)).toMatchObject({ parent_id: null, lifecycle: 'resident' })
  })

  it('hands the prompt over as the first mail, and records one event that says nothing of the program', async () => {
    const env = { API_KEY: 'sk-very-secret' }
    const { node, assignment } = await lifecycle.running({
      prompt: 'look here',
      exec: { argv: ['p'], stdin: 'text', env },
    })
    expect(assignment.mail).toMatchObject([
      { seq: 1, kind: 'prompt', tier: 'normal', body: 'look here', source: { kind: 'owner' } },
    ])
    expect(assignment.exec).toEqual({ argv: ['p'], stdin: 'text', env })
    const events = await lifecycle.recorded(node.id)
    expect(events.map(({ type }) => type)).toEqual(['node.created', 'node.bound'])
    expect(JSON.stringify(events)).not.toContain('sk-very-secret')
  })

  it('answers a repeated request with the first answer, and makes one node', async () => {
    const ctx = ownerContext({ idempotencyKey: 'once' })
    const first = await lifecycle.create({ name: 'only' }, ctx)
    expect(await lifecycle.create({ name: 'only' }, ctx)).toEqual(first)
    expect((await lifecycle.call('nodes.list', { text: 'only', limit: 50 })).data).toHaveLength(1)
    expect(await failure(lifecycle.create({ name: 'other' }, ctx))).toMatchObject({ code: 'idempotency_key_reused' })
  })

  describe('refuses', () => {
    const pointing = (pointer: string) => ({
      code: 'validation_failed',
      fields: { errors: [expect.objectContaining({ pointer }) as unknown] },
    })

    it('a root without a directory', async () => {
      const ask = lifecycle.call('nodes.create', { prompt: 'x', engine: 'exec', exec: { argv: ['true'] } })
      expect(await failure(ask)).toMatchObject(pointing('/cwd'))
    })

    it('exec without a program, and a program for the loop', async () => {
      expect(await failure(lifecycle.call('nodes.create', { prompt: 'x', engine: 'exec', cwd: '/' }))).toMatchObject(
        pointing('/exec'),
      )
      expect(await failure(lifecycle.create({ engine: 'loop' }))).toMatchObject(pointing('/exec'))
    })

    it('a result schema that is none', async () => {
      const ask = lifecycle.create({ result_schema: { type: 'banana' } })
      expect(await failure(ask)).toMatchObject(pointing('/result_schema'))
    })

    it('a parent that does not exist, and for a node one outside its own tree', async () => {
      expect(await failure(lifecycle.create({ parent_id: newId('node') }))).toMatchObject({ code: 'not_found' })
      const [mine, other] = [await lifecycle.create(), await lifecycle.create()]
      const sibling = await lifecycle.create({ parent_id: mine.id })
      const child = await lifecycle.create({ parent_id: mine.id })
      for (const parent_id of [other.id, mine.id, sibling.id]) {
        expect(await failure(lifecycle.create({ parent_id }, nodeContext(child.id)))).toMatchObject({
          code: 'not_found',
        })
      }
    })

    it('a child of a canceled node', async () => {
      const parent = await lifecycle.create()
      await lifecycle.call('nodes.cancel', { id: parent.id })
      expect(await failure(lifecycle.create({ parent_id: parent.id }))).toMatchObject({
        code: 'illegal_transition',
        fields: { state: 'canceled', event: 'spawn' },
      })
    })

    it('what nests deeper than 8, also by way of a root that a node makes', async () => {
      let node = await lifecycle.create()
      for (let depth = 1; depth <= 8; depth += 1) node = await lifecycle.create({ parent_id: node.id })
      const deep = { code: 'quota_exceeded', fields: { limit: 'depth', max: 8 } }
      expect(await failure(lifecycle.create({ parent_id: node.id }))).toMatchObject(deep)
      expect(await failure(lifecycle.create({ root: true }, nodeContext(node.id)))).toMatchObject(deep)
    })

    it('a 65th child, also when they come at once', async () => {
      const parent = await lifecycle.create()
      const asked = await Promise.allSettled(
        Array.from({ length: 70 }, () => lifecycle.create({ parent_id: parent.id })),
      )
      expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(64)
      expect(await failure(lifecycle.create({ parent_id: parent.id }))).toMatchObject({
        code: 'quota_exceeded',
        fields: { limit: 'children', max: 64 },
      })
    })

    it('scopes outside those of the parent, naming each; takes narrower ones', async () => {
      const parent = await lifecycle.create({ scopes: ['svc:llm', 'svc:memory:read:user'] })
      const asked = ['svc:llm', 'svc:schedule', 'svc:memory:rw:user']
      expect(await failure(lifecycle.create({ parent_id: parent.id, scopes: asked }))).toMatchObject({
        code: 'scope_exceeds_ceiling',
        fields: { scopes: ['svc:memory:rw:user', 'svc:schedule'] },
      })
      expect(await lifecycle.create({ parent_id: parent.id, scopes: ['svc:memory:read:user:notes'] })).toMatchObject({
        scopes: ['svc:memory:read:user:notes'],
        scopes_explicit: true,
      })
    })

    it("scopes outside those of the asking token, also below a parent that holds them; and the owner's own", async () => {
      const parent = await lifecycle.create()
      const ctx = nodeContext(parent.id, 1, { scopes: ['svc:act', 'svc:llm'] })
      expect(await failure(lifecycle.create({ scopes: ['svc:schedule'] }, ctx))).toMatchObject({
        code: 'scope_exceeds_ceiling',
      })
      expect(await lifecycle.create({}, ctx)).toMatchObject({ scopes: ['svc:act', 'svc:llm'] })
      expect(await failure(lifecycle.create({ scopes: ['*'] }))).toMatchObject(pointing('/scopes/0'))
    })

    it('svc:act without svc:llm, and a scope that nobody knows', async () => {
      expect(await failure(lifecycle.create({ scopes: ['svc:act'] }))).toMatchObject(pointing('/scopes'))
      expect(await failure(lifecycle.create({ scopes: ['shell'] }))).toMatchObject(pointing('/scopes'))
    })
  })

  describe('of a node that thinks', () => {
    const loop = { engine: 'loop', exec: undefined } as const

    it('is accepted when the service that knows the models is away', async () => {
      expect(await lifecycle.create(loop)).toMatchObject({ status: 'active', engine: 'loop' })
    })

    // A repeated request once met the check of the present and was refused, though its node had been made.
    it('answers a repeated request with its node, whatever the models say by then', async () => {
      const ctx = ownerContext({ idempotencyKey: 'thinks' })
      const first = await lifecycle.create(loop, ctx)
      const models = await lifecycle.joinModels()
      lifecycle.models.readiness = { ...ready, ready: false, strengths: [], remedy: null }
      expect(await failure(lifecycle.create(loop))).toMatchObject({ code: 'model_not_configured' })
      expect(await lifecycle.create(loop, ctx)).toEqual(first)
      await models.close()
    })

    it('says at once what is missing and how to add it, and makes nothing', async () => {
      const models = await lifecycle.joinModels()
      const remedy = 'svc model add …'
      lifecycle.models.readiness = { ...ready, ready: false, strengths: [], remedy }
      const before = await lifecycle.call('lifecycle.status', {})
      expect(await failure(lifecycle.create(loop))).toMatchObject({ code: 'model_not_configured', fields: { remedy } })
      expect((await lifecycle.call('lifecycle.status', {})).nodes).toEqual(before.nodes)

      lifecycle.models.readiness = ready
      expect(await lifecycle.create(loop)).toMatchObject({ status: 'active' })
      const strong = await failure(lifecycle.create({ ...loop, model: { strength: 'strong' } }))
      expect(strong).toMatchObject({ code: 'model_not_configured', message: 'No model serves this strength.' })
      const elsewhere = await failure(
        lifecycle.create({ ...loop, model: { strength: 'medium', override: 'nobody/x' } }),
      )
      expect(elsewhere).toMatchObject({ code: 'model_not_configured', message: 'There is no provider "nobody".' })
      await models.close()
    })
  })
})
