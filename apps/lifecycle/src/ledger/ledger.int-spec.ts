import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { HumanRequest, InputOf, LedgerEntry } from '#common/contract/index.js'
import { contract } from '#common/contract/index.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  LifecycleUnderTest,
  nodeContext,
  ownerContext,
  said,
  started,
} from '../../../../test/support/lifecycle-service.js'
import { LedgerRepository } from './ledger.repository.js'

const operation = contract['lifecycle.ledger.read']
type Asked = Partial<InputOf<typeof operation>>

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_BOOT_GRACE_MS: 2000, SVC_LAUNCH_BUDGET: 2 } })
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const rows = <T>(sql: string, values: unknown[] = []) => lifecycle.service.app.get(Database).query<T>(sql, values)
const read = async (asked: Asked = {}, ctx?: Context): Promise<LedgerEntry[]> =>
  (await lifecycle.call('lifecycle.ledger.read', { before: null, limit: 201, ...asked }, ctx)).entries
const of = (nodeId: string, asked: Asked = {}) => read({ node_id: nodeId, ...asked })
const found = (nodeId: string, wanted: Partial<LedgerEntry>) =>
  waitFor(
    async () =>
      (await of(nodeId)).find((entry) =>
        Object.entries(wanted).every(([name, value]) => entry[name as keyof LedgerEntry] === value),
      ) ?? null,
    { what: `an entry of ${nodeId} with ${JSON.stringify(wanted)}`, timeout: 20_000 },
  )

type Fault = { kind: string; message: string; retry_after_ms?: number }
/** A node whose first turn ended by a fault. */
const failing = async (fault: Fault, more: Parameters<LifecycleUnderTest['running']>[0] = {}, ctx?: Context) => {
  const running = await lifecycle.running({ engine: 'loop', exec: undefined, name: 'worker', ...more }, ctx)
  const ended = { type: 'turn_ended', turn: 1, status: 'failed', fault } as never
  await running.broker.append(started(1, running.assignment.mail), ended)
  return running.node
}
const pages = [
  {
    id: 'way',
    kind: 'decision',
    title: 'Which way?',
    options: [
      { id: 'a', label: 'Left' },
      { id: 'b', label: 'Right' },
    ],
  },
]
const ask = (ctx: Context, more: Record<string, unknown> = {}): Promise<HumanRequest> =>
  lifecycle.call('human.requests.create', { kind: 'deck', title: 'The way', pages, ...more }, ctx)
const soon = async (): Promise<string> => {
  const [row] = await rows<{ at: Date }>("SELECT now() + interval '1 second' AS at")
  return new Date((row as { at: Date }).at).toISOString()
}
/** An app with a grant. */
const app = async (): Promise<{ id: string; ctx: Context }> => {
  const id = newId('app')
  const scopes = ['svc:act', 'svc:files:rw:user:/tmp', 'svc:llm']
  const grant = { app_id: id, scopes, profiles: null, version: 1, status: 'active' }
  await lifecycle.call('lifecycle.grant.changed', { grants: [grant] }, systemContext('gateway'))
  return { id, ctx: ownerContext({ actor: { kind: 'app', principal: `app:${id}`, tokenId: 't', scopes, appId: id } }) }
}

describe('a fault', () => {
  it('that holds the work of a node waits, with its kind and when it is tried again; then it was late', async () => {
    const fault = { kind: 'rate_limit', message: 'too many requests', retry_after_ms: 3_600_000 }
    const { id } = await failing(fault)
    const entry = await found(id, { state: 'waiting' })
    const { fault: held } = await lifecycle.retrieve(id)
    expect(entry).toMatchObject({
      kind: 'resume',
      cause: 'rate_limit',
      at: held?.since,
      planned_at: held?.since,
      happened_at: null,
      lateness_ms: null,
      node_id: id,
      name: 'worker',
      action: { method: 'POST', path: `/v1/nodes/${id}/retry`, command: `svc node retry ${id}` },
    })
    expect(entry.message).toContain('too many requests')
    expect(entry.message).toContain(held?.retry_at as string)

    await lifecycle.call('nodes.retry', { id })
    const { broker } = await lifecycle.bound(id, 2)
    await broker.append(started(2), { ...said(2, 1), model: 'mock/m' } as never)

    const [late, ...others] = await of(id)
    expect(others).toEqual([])
    expect(late).toMatchObject({
      id: entry.id,
      state: 'late',
      cause: 'rate_limit',
      planned_at: held?.since,
      action: null,
    })
    expect(late?.at).toBe(late?.happened_at)
    expect(late?.lateness_ms).toBe(Date.parse(late?.happened_at as string) - Date.parse(held?.since as string))
  })

  it('that ended a node has failed, until it is brought back', async () => {
    const { id } = await failing({ kind: 'model_not_found', message: 'no such model' })
    const entry = await found(id, { state: 'failed' })
    expect(entry).toMatchObject({
      kind: 'resume',
      cause: 'model_not_found',
      action: { path: `/v1/nodes/${id}/revive` },
    })
    await lifecycle.call('nodes.revive', { id, mode: 'resume' })
    expect(await of(id)).toMatchObject([{ id: entry.id, state: 'late' }])
  })

  it('for which a node was given up is a launch that failed', async () => {
    const { node } = await lifecycle.running()
    await lifecycle.host.lose(node.id, 1)
    await lifecycle.broker(node.id, 2)
    await lifecycle.host.lose(node.id, 2)
    expect(await found(node.id, { kind: 'launch' })).toMatchObject({ state: 'failed', cause: 'crash_loop' })
  })

  it('is gone with a node that somebody canceled, and a fault that took it up tells for both', async () => {
    const { id } = await failing({ kind: 'rate_limit', message: 'slow down', retry_after_ms: 3_600_000 })
    await found(id, { state: 'waiting' })
    await lifecycle.call('nodes.cancel', { id })
    expect(await of(id)).toEqual([])

    const other = await failing({ kind: 'rate_limit', message: 'slow down', retry_after_ms: 3_600_000 })
    await lifecycle.call('nodes.retry', { id: other.id })
    const { broker } = await lifecycle.bound(other.id, 2)
    const ended = { type: 'turn_ended', turn: 2, status: 'failed', fault: { kind: 'overloaded', message: 'busy' } }
    await broker.append(started(2), ended as never)
    expect(await of(other.id)).toMatchObject([{ state: 'waiting', cause: 'overloaded' }])
  })
})

describe('a launch', () => {
  it('that no host has room for waits, once the boot grace is over', async () => {
    lifecycle.host.onLaunch = () => {
      throw new SvcError('quota_exceeded')
    }
    const { id, created_at } = await lifecycle.create({ name: 'crowded' })
    expect(await of(id)).toEqual([])
    const entry = await found(id, { kind: 'launch' })
    expect(entry).toMatchObject({ state: 'waiting', cause: 'capacity', planned_at: created_at, name: 'crowded' })
    expect(Date.parse(entry.at) - Date.parse(entry.planned_at)).toBe(2000)
    lifecycle.host.onLaunch = () => {
      throw new SvcError('internal', 'the disk is full')
    }
    expect((await found(id, { cause: 'launch_failed' })).message).toContain('the disk is full')
    lifecycle.host.onLaunch = () => undefined
    await lifecycle.bound(id)
    expect(await of(id)).toEqual([])
  })

  it('of a root in the place of another has failed when that never came to life', async () => {
    const { node } = await lifecycle.running({ engine: 'loop', exec: undefined, lifecycle: 'resident' })
    const { node: next } = await lifecycle.call('nodes.relaunchRoot', { id: node.id })
    await lifecycle.until(next.id, 'dead')
    const entry = await found(next.id, { cause: 'relaunch_failed' })
    expect(entry).toMatchObject({ kind: 'resume', state: 'failed', planned_at: next.created_at })
    expect(entry.action?.path).toBe(`/v1/nodes/${node.id}/relaunch-root`)
    expect(await of(next.id)).toHaveLength(1)
  })
})

describe('a wait', () => {
  it('that is over by the clock and was not attended to is overdue', async () => {
    const { node, broker, assignment } = await lifecycle.running({ engine: 'loop', exec: undefined })
    await broker.append(started(1, assignment.mail))
    await broker.call('nodes.wait', { timeout: 3600, reason: 'the tide' })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    const { waiting } = await lifecycle.until(node.id, 'idle')
    const until = new Date(waiting?.until as string)
    expect(await of(node.id)).toEqual([])
    const ledger = lifecycle.service.app.get(LedgerRepository)
    const view = { horizon: {}, nodeId: node.id, limit: 1 } as never
    expect(await ledger.waits(lifecycle.service.app.get(Database), view, until)).toMatchObject([
      { at: until, wait_reason: 'the tide' },
    ])
    expect(await ledger.waits(lifecycle.service.app.get(Database), view, new Date(until.getTime() - 1))).toEqual([])
  })
})

describe('a background job', () => {
  it('that was lost with its host is unknown', async () => {
    const { node } = await lifecycle.running()
    const job = await lifecycle.call('nodes.jobs.start', { id: node.id, command: 'make all' })
    await waitFor(() => lifecycle.host.jobs.has(job.id))
    await rows(
      "UPDATE canvas.jobs SET status = 'lost', ended_at = now(), error = 'its host was restarted' WHERE id = $1",
      [job.id],
    )
    const entry = await found(node.id, { id: job.id })
    expect(entry).toMatchObject({ kind: 'resume', state: 'unknown', cause: 'job_lost', planned_at: job.started_at })
    expect(entry.message).toContain('make all')
    expect(entry.message).toContain('its host was restarted')
  })
})

describe('an answer', () => {
  it('that nobody gave in time was omitted, with what silence decided', async () => {
    const { node, broker } = await lifecycle.running()
    const deadline = await soon()
    const request = await ask(broker.ctx, { deadline, default: [{ id: 'way', selectedOptionId: 'b' }] })
    const entry = await found(node.id, { kind: 'answer' })
    expect(entry).toMatchObject({ id: request.id, request_id: request.id, state: 'omitted', cause: 'expired' })
    expect(entry).toMatchObject({ planned_at: deadline, action: { path: `/v1/nodes/${node.id}/message` } })
    expect(entry.message).toContain('Right (b)')
  })

  it('whose asker ended before it heard it was omitted, until it is read', async () => {
    const { node, broker } = await lifecycle.running({ lifecycle: 'resident' })
    const request = await ask(broker.ctx)
    await broker.push('final', 'I can not wait')
    await lifecycle.call('human.requests.respond', {
      id: request.id,
      response: [{ id: 'way', selectedOptionId: 'a' }],
    })
    const entry = await found(node.id, { kind: 'answer' })
    expect(entry).toMatchObject({ state: 'omitted', cause: 'asker_ended', request_id: request.id })
    expect(entry.action?.path).toBe(`/v1/nodes/${node.id}/revive`)
    await lifecycle.call('nodes.revive', { id: node.id, mode: 'resume' })
    expect(await of(node.id)).toEqual([])
  })
})

describe('who reads it', () => {
  it('is shown what it reaches and nothing else: an app its own, a node itself and what is below it', async () => {
    const [mine, theirs] = [await app(), await app()]
    const fault = { kind: 'model_not_found', message: 'no such model' }
    const ofMine = await failing(fault, {}, mine.ctx)
    const ofTheirs = await failing(fault, {}, theirs.ctx)
    const { node: root } = await lifecycle.running()
    const child = await failing(fault, { parent_id: root.id })
    const sibling = await failing(fault, { parent_id: root.id })
    const asked = await ask(mine.ctx, { deadline: await soon() })
    await waitFor(async () => (await read({ kind: 'answer' }, mine.ctx)).length === 1, { timeout: 20_000 })
    await found(sibling.id, { state: 'failed' })

    const idsOf = async (ctx: Context, more: Asked = {}) =>
      (await read(more, ctx)).map(({ node_id, request_id }) => node_id ?? request_id).sort()
    expect(await idsOf(mine.ctx)).toEqual([ofMine.id, asked.id].sort())
    expect(await idsOf(theirs.ctx)).toEqual([ofTheirs.id])
    expect(await idsOf(theirs.ctx, { node_id: ofMine.id })).toEqual([])
    expect(await idsOf(theirs.ctx, { app_id: mine.id })).toEqual([])
    expect(await idsOf(nodeContext(root.id))).toEqual([child.id, sibling.id].sort())
    expect(await idsOf(nodeContext(child.id))).toEqual([child.id])
    const all = await idsOf(ownerContext())
    expect(all).toEqual(expect.arrayContaining([ofMine.id, ofTheirs.id, child.id, asked.id]))
    expect(await idsOf(ownerContext(), { app_id: theirs.id })).toEqual([ofTheirs.id])
  })

  it('of one profile of an app sees that profile alone', async () => {
    const { id, ctx } = await app()
    const confined = { ...ctx, actor: { ...ctx.actor, principal: `app:${id}:profile:work`, profile: 'work' } }
    await failing({ kind: 'model_not_found', message: 'gone' }, {}, ctx)
    expect(await read({}, ctx)).toHaveLength(1)
    expect(await read({}, confined)).toEqual([])
  })
})

describe('its pages', () => {
  it('hold each entry once, whatever their size and however many became known at the same moment', async () => {
    const at = '2026-01-02T03:04:05.678Z'
    await rows('UPDATE canvas.faults SET ended_at = $1::timestamptz WHERE ended_at IS NOT NULL', [at])
    await rows('UPDATE canvas.faults SET since = $1::timestamptz WHERE ended_at IS NULL', [at])
    await rows("UPDATE canvas.jobs SET ended_at = $1::timestamptz WHERE status = 'lost'", [at])
    await rows("UPDATE canvas.human_requests SET resolved_at = $1::timestamptz WHERE status = 'expired'", [at])
    const whole = await read()
    expect(whole.filter((entry) => entry.at === at).length).toBeGreaterThan(5)
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length)
    expect(whole).toEqual([...whole].sort((a, b) => (a.at === b.at ? (a.id < b.id ? 1 : -1) : a.at < b.at ? 1 : -1)))
    for (const limit of [1, 2, 3, 7]) {
      const pages: LedgerEntry[] = []
      for (let before: Asked['before'] = null, page = [] as LedgerEntry[]; ; ) {
        page = await read({ before, limit })
        pages.push(...page)
        const last = page.at(-1)
        if (!last || page.length < limit) break
        before = { at: last.at, id: last.id }
      }
      expect(pages).toEqual(whole)
    }
  })

  it('hold what is asked for alone', async () => {
    const whole = await read()
    for (const kind of ['launch', 'resume', 'answer', 'slot'] as const) {
      expect(await read({ kind })).toEqual(whole.filter((entry) => entry.kind === kind))
    }
    for (const state of ['waiting', 'late', 'failed', 'unknown', 'omitted'] as const) {
      expect(await read({ state })).toEqual(whole.filter((entry) => entry.state === state))
    }
    const { at: since } = whole[Math.floor(whole.length / 2)] as LedgerEntry
    expect(await read({ since })).toEqual(whole.filter(({ at }) => at >= since))
    expect(await read({ cron_id: newId('cron') })).toEqual([])
  })
})
