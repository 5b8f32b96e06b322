import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'
import { Housekeeping } from '../housekeeping.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

let minute = 0
const concernOf = (more: Record<string, unknown> = {}) => {
  minute += 1
  return {
    node_id: null,
    app_id: null,
    profile: null,
    name: 'nightly',
    since: new Date(Date.UTC(2030, 0, 1, 0, minute)).toISOString(),
    message: 'It failed three times in a row; last: exit code 3.',
    remedy: 'See to the cause, then: svc cron resume <id>',
    ...more,
  }
}
const set = (ref: string, version: number, concern: Record<string, unknown> | null = concernOf()) =>
  lifecycle.call('lifecycle.concern.set', { ref, version, concern }, systemContext('scheduler'))

const attention = async (ctx?: Context, more: Record<string, unknown> = {}) =>
  (await lifecycle.call('canvas.attention', { limit: 200, ...more }, ctx)).items
const refsOf = async (ctx?: Context, more = {}) =>
  (await attention(ctx, more)).flatMap(({ cron_id }) => (cron_id === null ? [] : [cron_id]))
const countOf = async (id: string) => (await lifecycle.call('canvas.attentionCounts', { ids: [id] })).counts[id]

const appContext = (appId: string, profile?: string): Context =>
  ownerContext({
    actor: {
      kind: 'app',
      principal: `app:${appId}`,
      tokenId: 'tok_2',
      scopes: ['svc:act', 'svc:llm', 'svc:files:rw:user:/tmp'],
      appId,
      ...(profile && { profile }),
    },
  })

/** A resident that rests. */
const resting = async () => {
  const { node, broker, assignment } = await lifecycle.running()
  await broker.turn(1, assignment.mail)
  return node
}

describe('a concern', () => {
  it('needs a person until it is taken back', async () => {
    const ref = newId('cron')
    const concern = concernOf()
    expect(await set(ref, 1, concern)).toEqual({ noted: true })
    expect((await attention()).filter(({ cron_id }) => cron_id === ref)).toEqual([
      {
        type: 'schedule',
        node_id: null,
        request_id: null,
        cron_id: ref,
        object_id: null,
        node_name: null,
        node_kind: null,
        status: null,
        since: concern.since,
        message: `nightly: ${concern.message}`,
        fault: null,
        retry_at: null,
        remedy: concern.remedy,
      },
    ])
    expect(await set(ref, 2, null)).toEqual({ noted: true })
    expect(await refsOf()).not.toContain(ref)
  })

  it('says whether it is about a schedule or a custom object', async () => {
    const [cron, object] = [newId('cron'), newId('obj')]
    for (const ref of [cron, object]) await set(ref, 1)
    const about = (await attention()).filter(({ cron_id, object_id }) =>
      [cron_id, object_id].some((id) => id === cron || id === object),
    )
    expect(about.map(({ type, cron_id, object_id }) => [type, cron_id, object_id]).sort()).toEqual([
      ['object', null, object],
      ['schedule', cron, null],
    ])
    for (const ref of [cron, object]) await set(ref, 2, null)
  })

  it('is not changed by an older word, nor by the same one again', async () => {
    const ref = newId('cron')
    expect(await set(ref, 5, null)).toEqual({ noted: true })
    for (const version of [1, 4, 5]) expect(await set(ref, version)).toEqual({ noted: false })
    expect(await refsOf()).not.toContain(ref)
    expect(await set(ref, 6)).toEqual({ noted: true })
    expect(await set(ref, 5, null)).toEqual({ noted: false })
    expect(await refsOf()).toContain(ref)
  })

  it('stands in its place among all else, page by page', async () => {
    const first = newId('cron')
    await set(first, 1, concernOf({ since: '2020-01-01T00:00:00.000Z' }))
    const deck = { title: 'between', pages: [{ id: 'a', kind: 'notify', title: 'A' }] }
    const asking = contract['human.requests.create']
    const ticket = await lifecycle.call('human.requests.create', asking.body.parse(deck))
    const second = newId('cron')
    await set(second, 1)
    const all = (await attention()).map(({ cron_id, request_id, node_id }) => cron_id ?? request_id ?? node_id)
    expect(all.filter((id) => [first, second, ticket.id].includes(id ?? ''))).toEqual([second, ticket.id, first])
    const walked: (string | null)[] = []
    for (let after: string | undefined; ; ) {
      const page = await lifecycle.call('canvas.attention', { limit: 1, ...(after && { after }) })
      walked.push(...page.items.map(({ cron_id, request_id, node_id }) => cron_id ?? request_id ?? node_id))
      if (!page.next_cursor) break
      after = page.next_cursor
    }
    expect(walked).toEqual(all)
  })
})

describe('the node of a concern', () => {
  it('has it among what needs a person, wherever that is counted', async () => {
    const { id } = await resting()
    const ref = newId('cron')
    await set(ref, 1, concernOf({ node_id: id }))
    expect(await countOf(id)).toBe(1)
    expect(await lifecycle.retrieve(id)).toMatchObject({ attention_count: 1 })
    const { nodes } = await lifecycle.call('canvas.snapshot', { limit: 1000 })
    expect(nodes.find((node) => node.id === id)).toMatchObject({ attention: 1 })
    await set(ref, 2, null)
    expect(await countOf(id)).toBe(0)
  })

  it('is told once, and not woken', async () => {
    const { id } = await resting()
    const ref = newId('cron')
    await set(ref, 1, concernOf({ node_id: id }))
    await set(ref, 2, concernOf({ node_id: id, message: 'It failed four times in a row.' }))
    await set(ref, 2, concernOf({ node_id: id }))
    expect(await lifecycle.retrieve(id)).toMatchObject({ status: 'idle' })
    await set(ref, 3, null)
    await set(ref, 4, concernOf({ node_id: id, message: 'Again.' }))
    await lifecycle.message(id, 'look')
    const { assignment } = await lifecycle.bound(id, 2)
    expect(assignment.mail).toMatchObject([
      {
        tier: 'deferred',
        kind: 'notice',
        body: expect.stringMatching(/^Of your schedule nightly \(cron_.*three times/),
      },
      { tier: 'deferred', kind: 'notice', body: expect.stringMatching(/Again/) },
      { body: 'look' },
    ])
  })

  it('takes it along when it is canceled or deleted, though nobody took it back', async () => {
    const { id } = await resting()
    const ref = newId('cron')
    await set(ref, 1, concernOf({ node_id: id }))
    await lifecycle.call('nodes.cancel', { id })
    expect(await refsOf()).not.toContain(ref)
    expect(await countOf(id)).toBe(0)
    expect(await lifecycle.retrieve(id)).toMatchObject({ attention_count: 0 })
    await lifecycle.call('canvas.prune', { older_than: 0, dry_run: false, statuses: ['canceled'] })
    expect(await refsOf()).not.toContain(ref)
    // one of a node that went before it was told
    const late = newId('cron')
    expect(await set(late, 1, concernOf({ node_id: id }))).toEqual({ noted: true })
    expect(await refsOf()).not.toContain(late)
  })
})

describe('who sees a concern', () => {
  it('is the owner, the node that it belongs to and those above it', async () => {
    const [root, other] = [await lifecycle.create(), await lifecycle.create()]
    const child = await lifecycle.create({ parent_id: root.id })
    const sibling = await lifecycle.create({ parent_id: root.id })
    const ref = newId('cron')
    await set(ref, 1, concernOf({ node_id: child.id }))
    for (const ctx of [ownerContext(), nodeContext(root.id), nodeContext(child.id)]) {
      expect(await refsOf(ctx)).toContain(ref)
    }
    for (const id of [sibling.id, other.id]) expect(await refsOf(nodeContext(id))).toEqual([])
    expect(await refsOf(ownerContext(), { under: root.id })).toEqual([ref])
    expect(await refsOf(ownerContext(), { under: sibling.id })).toEqual([])
  })

  it('is the app that it belongs to, of its own profile where it is confined to one', async () => {
    const [appId, stranger] = [newId('app'), newId('app')]
    const ref = newId('cron')
    await set(ref, 1, concernOf({ app_id: appId, profile: 'home' }))
    for (const ctx of [ownerContext(), appContext(appId), appContext(appId, 'home')]) {
      expect(await refsOf(ctx)).toContain(ref)
    }
    for (const ctx of [appContext(appId, 'work'), appContext(stranger)]) expect(await refsOf(ctx)).toEqual([])
  })
})

describe('what is over', () => {
  it('is forgotten after 60 days, and what needs a person never', async () => {
    const [over, open] = [newId('cron'), newId('cron')]
    await set(over, 1)
    await set(over, 2, null)
    await set(open, 1)
    const { epoch } = await lifecycle.call('lifecycle.status', {})
    await lifecycle.database.query(
      `SET svc.epoch = '${epoch}'; UPDATE canvas.concerns SET updated_at = updated_at - interval '61 days'`,
    )
    await lifecycle.service.app.get(Housekeeping).round()
    const rows = await lifecycle.database.query<{ ref: string }>('SELECT ref FROM canvas.concerns')
    const refs = rows.map(({ ref }) => ref)
    expect(refs).toContain(open)
    expect(refs).not.toContain(over)
  })
})
