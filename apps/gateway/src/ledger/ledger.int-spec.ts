import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type InputOf, type LedgerEntry } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { TestGateway } from '../testing/gateway.fixture.js'
import { WireLifecycle } from '../testing/wire-lifecycle.fixture.js'

const ofScheduler = contract['scheduler.ledger.read']
const ofObjects = contract['objects.ledger.read']
const ofLifecycle = contract['lifecycle.ledger.read']
type Asked = InputOf<typeof ofScheduler>

let gateway: TestGateway
let wire: WireLifecycle
let peers: TestPeer[] = []
let node: string

type Part = typeof ofScheduler | typeof ofObjects
type Answer = (ctx: Context, asked: Asked) => unknown

const join = async (part: Part, answer: Answer): Promise<void> => {
  const handlers = { [part.name]: async (ctx: Context, asked: unknown) => answer(ctx, asked as Asked) }
  peers.push(await joinBus(testNats().url, part.service, { operations: [part], handlers }))
}
const joinScheduler = (answer: Answer): Promise<void> => join(ofScheduler, answer)
const joinObjects = (answer: Answer): Promise<void> => join(ofObjects, answer)
const lifecycleAnswers = (answer: Answer): void => {
  wire.answers[ofLifecycle.name] = (ctx, asked) => answer(ctx, asked)
}
beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  gateway = await TestGateway.start(url, await testDatabase())
  node = wire.create()
})
afterEach(async () => {
  await Promise.all(peers.map((peer) => peer.close()))
  peers = []
  delete wire.answers[ofLifecycle.name]
})
afterAll(async () => {
  await gateway?.stop()
  await wire?.stop()
})

const entry = (id: string, at: string, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  id,
  kind: 'slot',
  state: 'omitted',
  cause: 'policy',
  message: 'nobody was there',
  at,
  planned_at: at,
  happened_at: null,
  lateness_ms: null,
  count: 1,
  cron_id: null,
  node_id: null,
  request_id: null,
  object_id: null,
  name: null,
  app_id: null,
  action: null,
  ...more,
})
/** Times are of one length, so that this is the order by (at, id), descending. */
const placeOf = ({ at, id }: { at: string; id: string }): string => `${at} ${id}`
const newestFirst = (a: LedgerEntry, b: LedgerEntry): number => (placeOf(a) < placeOf(b) ? 1 : -1)

/** Answers as a service does: its entries below the position that is named. */
const keeping =
  (all: readonly LedgerEntry[]) =>
  (_ctx: Context, { before, limit }: Asked) => ({
    entries: all
      .filter((one) => before === null || placeOf(one) < placeOf(before))
      .sort(newestFirst)
      .slice(0, limit),
  })

const moments = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2026-01-02T00:00:00.000Z'] as const
const cron = newId('cron')
const slots = moments.flatMap((at, day) => [1, 2].map((slot) => entry(`${cron}:176722560${day}00${slot}`, at)))
const faults = moments.flatMap((at, day) =>
  [1, 2, 3].map((ord) => entry(`fault_000000000000000000${day}${ord}`, at, { kind: 'resume' })),
)
const deliveries = moments.map((at, day) => entry(`dlv_0000000000000000000000000${day}`, at, { kind: 'delivery' }))
const whole = [...slots, ...faults, ...deliveries].sort(newestFirst)

describe('GET /v1/ledger', () => {
  it('is what all services keep, page after page, each entry once', async () => {
    await joinScheduler(keeping(slots))
    await joinObjects(keeping(deliveries))
    lifecycleAnswers(keeping(faults))
    for (const limit of [1, 2, 4, 200]) {
      const read: LedgerEntry[] = []
      for (let after = ''; ; ) {
        const { status, body } = await gateway.ask({ path: `/v1/ledger?limit=${limit}${after}` })
        expect(status).toBe(200)
        expect(body.absent).toEqual([])
        read.push(...body.data)
        if (!body.has_more) break
        after = `&after=${body.next_cursor}`
      }
      expect(read).toEqual(whole)
    }
  })

  it('names a service that is not there, and shows what the others keep', async () => {
    lifecycleAnswers(keeping(faults))
    await joinObjects(keeping([]))
    const { status, body } = await gateway.ask({ path: '/v1/ledger' })
    expect(status).toBe(200)
    expect(body.absent).toEqual(['scheduler'])
    expect(body.data).toHaveLength(faults.length)
  })

  it('names a service that is there and does not answer in time', async () => {
    await joinScheduler(keeping(slots))
    await joinObjects(keeping(deliveries))
    lifecycleAnswers(
      (ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
    )
    const { status, body } = await gateway.ask({ path: '/v1/ledger' })
    expect(status).toBe(200)
    expect(body.absent).toEqual(['lifecycle'])
    expect(body.data).toHaveLength(slots.length + deliveries.length)
  })

  it('passes on what a service refuses, and refuses a cursor and a filter that mean nothing', async () => {
    await joinScheduler(() => {
      throw new SvcError('validation_failed', 'no such thing')
    })
    lifecycleAnswers(keeping(faults))
    expect((await gateway.ask({ path: '/v1/ledger' })).body).toMatchObject({ code: 'validation_failed' })
    for (const query of ['after=nonsense', 'kind=other', 'since=yesterday', 'node_id=x', 'limit=0']) {
      const { status, body } = await gateway.ask({ path: `/v1/ledger?${query}` })
      expect([query, status, body.code]).toEqual([query, 422, 'validation_failed'])
    }
  })

  it('asks each service in the name of the caller, and with all filters', async () => {
    const asked: { ctx: Context; input: Asked }[] = []
    const noting = (ctx: Context, input: Asked) => {
      asked.push({ ctx, input })
      return { entries: [] }
    }
    await Promise.all([joinScheduler(noting), joinObjects(noting)])
    lifecycleAnswers(noting)
    const object = newId('obj')
    const since = '2026-01-01T00:00:00.000Z'
    const query = `kind=slot&state=failed&node_id=${node}&cron_id=${cron}&object_id=${object}&app_id=an-app&since=${since}&limit=7`
    expect((await gateway.ask({ path: `/v1/ledger?${query}`, token: gateway.nodeToken(node) })).status).toBe(200)
    expect(asked).toHaveLength(3)
    for (const { ctx, input } of asked) {
      expect(ctx.actor).toMatchObject({ kind: 'node', nodeId: node })
      expect(input).toEqual({
        kind: 'slot',
        state: 'failed',
        node_id: node,
        cron_id: cron,
        object_id: object,
        app_id: 'an-app',
        since,
        before: null,
        limit: 8,
      })
    }
  })
})
