import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type HumanRequest, humanPage } from '#common/contract/human.schema.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import type { Context } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

/** As the gateway passes them on, with their defaults. */
const pages = [
  humanPage.parse({
    id: 'way',
    kind: 'decision',
    title: 'Which way?',
    options: [
      { id: 'a', label: 'Left' },
      { id: 'b', label: 'Right' },
    ],
  }),
]
const left = [{ id: 'way', selectedOptionId: 'a' }]
const right = [{ id: 'way', selectedOptionId: 'b' }]

const ask = (ctx: Context, more: Record<string, unknown> = {}): Promise<HumanRequest> =>
  lifecycle.call('human.requests.create', { kind: 'deck', title: 'The way', pages, ...more }, ctx)
const respond = (id: string, response: unknown = left, ctx?: Context) =>
  lifecycle.call('human.requests.respond', { id, response }, ctx)
const read = (id: string, wait?: number, ctx?: Context) =>
  lifecycle.call('human.requests.retrieve', { id, ...(wait !== undefined && { wait }) }, ctx)

/** A resident that has asked and rests. */
const resting = async (more: Record<string, unknown> = {}) => {
  const { node, broker, assignment } = await lifecycle.running()
  const request = await ask(broker.ctx, more)
  await broker.turn(1, assignment.mail)
  await lifecycle.until(node.id, 'idle')
  return { node, broker, request }
}

const secondsAhead = async (seconds: number): Promise<string> => {
  const [row] = await lifecycle.database.query<{ at: Date }>(`SELECT now() + interval '${seconds} seconds' AS at`)
  return new Date((row as { at: Date }).at).toISOString()
}

describe('create', () => {
  it('asks in the name of the node whose token it is, and says so in its events', async () => {
    const { node, broker } = await lifecycle.running()
    const request = await ask(broker.ctx)
    expect(request).toMatchObject({
      status: 'pending',
      node_id: node.id,
      version: 1,
      asked_by: { kind: 'node', id: node.id },
    })
    const asked = (await lifecycle.recorded(node.id)).find(({ type }) => type === 'question.asked')
    expect(asked?.data).toMatchObject({ request_id: request.id, title: 'The way' })
  })

  it('answers the open one of the same key, and a new one once that is resolved', async () => {
    const { broker } = await lifecycle.running()
    const [first, second] = await Promise.all([
      ask(broker.ctx, { dedupe_key: 'k' }),
      ask(broker.ctx, { dedupe_key: 'k' }),
    ])
    expect(second.id).toBe(first.id)
    await respond(first.id)
    expect((await ask(broker.ctx, { dedupe_key: 'k' })).id).not.toBe(first.id)
  })

  it('is done once for an idempotency key', async () => {
    const { broker } = await lifecycle.running()
    const keyed = { ...broker.ctx, idempotencyKey: newId('evt') }
    const [first, second] = [await ask(keyed), await ask(keyed)]
    expect(second.id).toBe(first.id)
  })

  it.each([
    [{ pages: [{ ...pages[0], options: [] }] }, '/pages/0/options'],
    [{ deadline: '2020-01-01T00:00:00.000Z' }, '/deadline'],
    [{ default: left }, '/default'],
    [{ deadline: '2090-01-01T00:00:00.000Z', default: [{ id: 'way' }] }, '/default/0'],
  ])('refuses %j', async (more, pointer) => {
    const error = await failure(ask(ownerContext(), more))
    expect(error.code).toBe('validation_failed')
    expect(error.fields.errors?.map((fault) => fault.pointer)).toEqual([pointer])
  })

  it('refuses it of a node that has ended, and in the name of a stranger', async () => {
    const { node } = await lifecycle.running()
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect((await failure(ask(ownerContext(), { node_id: node.id }))).code).toBe('illegal_transition')
    const [one, other] = [await lifecycle.create(), await lifecycle.create()]
    expect((await failure(ask(nodeContext(one.id), { node_id: other.id }))).code).toBe('not_found')
  })
})

describe('respond', () => {
  it('wakes the node that asked, with the answer as mail', async () => {
    const { node, request } = await resting()
    await respond(request.id)
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail).toHaveLength(1)
    expect(assignment.mail[0]).toMatchObject({ kind: 'answer', tier: 'normal', source: { kind: 'owner' } })
    expect(assignment.mail[0]?.body).toContain('Which way?: Left (a)')
    const resolved = (await lifecycle.recorded(node.id)).filter(({ type }) => type === 'question.resolved')
    expect(resolved.map(({ data }) => data)).toMatchObject([{ request_id: request.id, status: 'answered' }])
  })

  // Fault 33: two people answered at once, and the agent acted on both.
  it('takes the first of two answers at once; the other is told which it was', async () => {
    const { node, request } = await resting()
    const settled = await Promise.allSettled([respond(request.id, left), respond(request.id, right)])
    const won = settled.find((one) => one.status === 'fulfilled')?.value as HumanRequest
    const lost = settled.find((one) => one.status === 'rejected')?.reason
    expect(lost).toMatchObject({ code: 'already_resolved', fields: { state: 'answered', response: won.response } })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail.filter(({ kind }) => kind === 'answer')).toHaveLength(1)
  })

  // Fault 12: the answer was stored, and the process died before it was told.
  it('keeps the answer as unread mail until it is acknowledged, whatever dies', async () => {
    const { node, request } = await resting()
    await respond(request.id)
    await lifecycle.stopService()
    await lifecycle.another()
    const { broker, assignment } = await lifecycle.bound(node.id)
    expect(assignment.mail.map(({ kind }) => kind)).toEqual(['answer'])
    expect((await broker.claim()).mail.map(({ kind }) => kind)).toEqual(['answer'])
    await broker.turn(2, assignment.mail)
    await lifecycle.until(node.id, 'idle')
  })

  it('names each fault of a response and leaves the question open', async () => {
    const { request } = await resting()
    const error = await failure(
      respond(request.id, [{ id: 'way', selectedOptionId: 'c', freetext: 'x' }, { id: 'no' }]),
    )
    expect(error.code).toBe('validation_failed')
    expect(error.fields.errors?.map(({ pointer }) => pointer)).toEqual(['/response/0/freetext', '/response/1/id'])
    expect((await read(request.id)).status).toBe('pending')
  })

  it('answers differently of what was answered, what has expired and what is not known', async () => {
    const answered = await ask(ownerContext())
    await respond(answered.id)
    const late = await ask(ownerContext(), { deadline: await secondsAhead(1) })
    await waitFor(async () => (await read(late.id)).status === 'expired', { what: 'the deadline' })
    const codes = await Promise.all(
      [answered.id, late.id, newId('req')].map(async (id) => (await failure(respond(id))).code),
    )
    expect(codes).toEqual(['already_resolved', 'request_expired', 'not_found'])
  })

  it('keeps the answer for a node that has ended, without reopening its work', async () => {
    const { node, broker, request } = await resting()
    await lifecycle.message(node.id, 'go on')
    const { broker: second } = await lifecycle.bound(node.id, 2)
    await second.push('final', 'done without it')
    await lifecycle.until(node.id, 'done')
    await respond(request.id)
    expect((await lifecycle.retrieve(node.id)).status).toBe('done')
    await lifecycle.message(node.id, 'and now')
    const { assignment } = await lifecycle.bound(node.id, 3)
    expect(assignment.mail.map(({ kind, tier }) => [kind, tier])).toContainEqual(['answer', 'deferred'])
    expect(broker.nodeId).toBe(node.id)
  })

  it('answers only the pages that were read, when the version is named', async () => {
    const request = await ask(ownerContext())
    await lifecycle.call('human.requests.replace', { id: request.id, title: 'Another', pages })
    const stale = lifecycle.call('human.requests.respond', { id: request.id, response: left, if_match: 1 })
    expect(await failure(stale)).toMatchObject({ code: 'precondition_failed', fields: { version: 2 } })
  })
})

describe('a deadline', () => {
  it('lets the default stand when nobody answers, and tells the asker', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    const request = await ask(broker.ctx, { deadline: await secondsAhead(1), default: right })
    await broker.turn(1, assignment.mail)
    const next = await lifecycle.bound(node.id, 2)
    expect(next.assignment.mail[0]?.body).toContain('its default stands')
    expect(next.assignment.mail[0]?.body).toContain('Right (b)')
    expect(await read(request.id)).toMatchObject({
      status: 'expired',
      response: right,
      resolved_by: { kind: 'system' },
    })
  })
})

describe('dismiss', () => {
  it('tells the asker that nobody answers', async () => {
    const { node, request } = await resting()
    await lifecycle.call('human.requests.dismiss', { id: request.id, reason: 'not now' })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail[0]?.body).toMatch(/dismissed: not now/)
    expect((await failure(respond(request.id))).fields).toMatchObject({ state: 'dismissed' })
  })
})

describe('cancel', () => {
  it('withdraws it for the node that asked, which is told nothing that it knows', async () => {
    const { node, broker, request } = await resting()
    await lifecycle.call('human.requests.cancel', { id: request.id }, broker.ctx)
    expect(await read(request.id)).toMatchObject({ status: 'canceled' })
    expect((await lifecycle.retrieve(node.id)).status).toBe('idle')
  })

  it('tells the node when a person withdraws it', async () => {
    const { node, request } = await resting()
    await lifecycle.call('human.requests.cancel', { id: request.id })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail[0]?.body).toContain('Withdrawn')
  })

  it('is refused to a node that did not ask', async () => {
    const { request } = await resting()
    const stranger = await lifecycle.create()
    for (const method of ['human.requests.cancel', 'human.requests.retrieve'] as const) {
      expect((await failure(lifecycle.call(method, { id: request.id }, nodeContext(stranger.id)))).code).toBe(
        'not_found',
      )
    }
  })

  it('comes with the cancel of its node', async () => {
    const { node, request } = await resting()
    await lifecycle.call('nodes.cancel', { id: node.id })
    await waitFor(async () => (await read(request.id)).status === 'canceled', { what: 'the question to be withdrawn' })
  })
})

describe('a root that takes the place of another', () => {
  it('is told the answers to what that one asked, and finds what its mail carries', async () => {
    const { node, request } = await resting()
    await lifecycle.call('nodes.message', {
      id: node.id,
      body: 'see',
      tier: 'deferred',
      attachments: [{ name: 'a', text: 'carried' }],
    })
    const recycled = await lifecycle.call('nodes.recycle', { id: node.id })
    await respond(request.id)
    const { broker, assignment } = await lifecycle.bound(recycled.node.id)
    const mail = [...assignment.mail, ...(await broker.claim()).mail]
    expect(mail.map(({ kind }) => kind)).toContain('answer')
    const carried = mail.find(({ attachments }) => attachments)?.attachments?.[0]
    const found = await broker.call('nodes.attachments.retrieve', { attachment_id: carried?.id })
    expect(Buffer.from(found.base64, 'base64').toString()).toBe('carried')
  })
})

describe('retrieve', () => {
  it('waits until it is resolved', async () => {
    const request = await ask(ownerContext())
    const waiting = read(request.id, 30)
    await respond(request.id)
    expect((await waiting).status).toBe('answered')
  })
})

describe('list', () => {
  it('shows a node what it and those below it asked, and the owner all', async () => {
    const { node, request } = await resting()
    const other = await ask(ownerContext())
    const ofNode = await lifecycle.call('human.requests.list', { limit: 50 }, nodeContext(node.id))
    expect(ofNode.data.map(({ id }) => id)).toEqual([request.id])
    const open = await lifecycle.call('human.requests.list', { limit: 50, status: 'pending' })
    expect(open.data.map(({ id }) => id)).toEqual(expect.arrayContaining([request.id, other.id]))
  })
})

describe('attention', () => {
  it('shows each open question as a ticket until it is resolved', async () => {
    const { node, request } = await resting()
    const tickets = async () =>
      (await lifecycle.call('canvas.attention', { limit: 200 })).items.filter(
        ({ type, node_id }) => type === 'ticket' && node_id === node.id,
      )
    const counted = async () => {
      const { counts } = await lifecycle.call('canvas.attentionCounts', { ids: [node.id] })
      const shown = await lifecycle.retrieve(node.id)
      expect(shown.attention_count).toBe(counts[node.id])
      return counts[node.id]
    }
    expect(await tickets()).toMatchObject([{ message: 'The way', node_name: node.name }])
    expect(await counted()).toBe(1)
    await respond(request.id)
    expect(await tickets()).toEqual([])
    expect(await counted()).toBe(0)
  })

  it('pages through tickets and nodes alike', async () => {
    for (let at = 0; at < 3; at += 1) await ask(ownerContext(), { title: `t${at}` })
    const all = (await lifecycle.call('canvas.attention', { limit: 200 })).items
    const paged = []
    for (let after: string | undefined; ; ) {
      const page = await lifecycle.call('canvas.attention', { limit: 2, ...(after && { after }) })
      paged.push(...page.items)
      if (page.next_cursor === null) break
      after = page.next_cursor
    }
    expect(paged.map(({ type, since, message }) => [type, since, message])).toEqual(
      all.map(({ type, since, message }) => [type, since, message]),
    )
  })
})
