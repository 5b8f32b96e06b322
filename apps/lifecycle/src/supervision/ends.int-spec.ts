import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import { systemContext } from '#common/kernel/context.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_LAUNCH_BUDGET: 2, SVC_LAUNCH_CONCURRENCY: 3 } })
})
afterAll(() => lifecycle.stop())

type Running = Awaited<ReturnType<LifecycleUnderTest['running']>>

/** A resident that rests. */
const resting = async (): Promise<string> => {
  const { node, broker, assignment } = await lifecycle.running()
  await broker.turn(1, assignment.mail)
  return node.id
}
const write = async (sql: string): Promise<void> => {
  const { epoch } = await lifecycle.call('lifecycle.status', {})
  await lifecycle.database.query(`SET svc.epoch = '${epoch}'; ${sql}`)
}

const ends: readonly (readonly [string, (child: Running) => Promise<unknown>, RegExp])[] = [
  ['done', ({ broker }) => broker.push('final', 'it is done'), /^it is done$/],
  ['canceled', ({ node }) => lifecycle.call('nodes.cancel', { id: node.id }), /was canceled/],
  [
    'dead by a fault',
    ({ broker, assignment }) => broker.turn(1, assignment.mail, { status: 'failed' }),
    /ended as dead: The turn failed/,
  ],
  [
    'dead by a crash loop',
    async ({ node }) => {
      await lifecycle.host.lose(node.id, 1)
      await lifecycle.bound(node.id, 2)
      await lifecycle.host.lose(node.id, 2)
    },
    /ended as dead: Its process was lost 2 times.*last words/,
  ],
]

describe('the end of a node', () => {
  it.each(ends)(
    'that is %s wakes every active subscriber, and lies ready for each passive one',
    async (_how, end, word) => {
      const [parent, active, passive] = [await resting(), await resting(), await resting()]
      const child = await lifecycle.running({ parent_id: parent, lifecycle: 'terminal', name: 'hand' })
      await write(`INSERT INTO canvas.subscriptions (subscriber, publisher, mode) VALUES
      ('${active}', '${child.node.id}', 'active'), ('${passive}', '${child.node.id}', 'passive')`)

      await end(child)

      for (const id of [parent, active]) {
        const { assignment } = await lifecycle.bound(id, 2)
        expect(assignment.mail).toMatchObject([{ tier: 'urgent', body: expect.stringMatching(word) }])
      }
      expect(await lifecycle.retrieve(passive)).toMatchObject({ status: 'idle' })
      await lifecycle.message(passive, 'look')
      const { assignment } = await lifecycle.bound(passive, 2)
      expect(assignment.mail).toMatchObject([{ body: expect.stringMatching(word) }, { body: 'look' }])
    },
  )
})

describe('the loss of a whole host', () => {
  // Fault 40: when the machine came back, everything was started at the same moment.
  it('starts its nodes again, never more at once than may be launched', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => lifecycle.running()))
    for (const { broker, assignment } of all) await broker.append(started(1, assignment.mail))
    let under = 0
    let most = 0
    const gates: (() => void)[] = []
    lifecycle.host.onLaunch = async () => {
      under += 1
      most = Math.max(most, under)
      await new Promise<void>((resolve) => gates.push(resolve))
      under -= 1
    }
    lifecycle.host.brokers.clear()
    lifecycle.host.incarnation = 'another'
    await lifecycle.host.hello()
    const there = (): boolean => all.every(({ node }) => lifecycle.host.brokers.get(node.id)?.generation === 2)
    await waitFor(
      () => {
        gates.shift()?.()
        return there()
      },
      { timeout: 30_000, what: 'all launches' },
    )
    lifecycle.host.onLaunch = () => undefined
    for (const gate of gates) gate()
    for (const { node } of all) await lifecycle.bound(node.id, 2)
    expect(most).toBe(3)
    const budgets = await Promise.all(all.map(async ({ node }) => (await lifecycle.retrieve(node.id)).fault))
    expect(budgets).toEqual(all.map(() => null))
  })
})

describe('a boot that fails', () => {
  // Faults 5 and 20: the answer to the creation was a success, and nothing ever said why the node did nothing.
  it('ends the node with the last words of its process, told to those who wait', async () => {
    const node = await lifecycle.create({ lifecycle: 'terminal' })
    const held = lifecycle.outcome(node.id, 30)
    for (let generation = 1; generation <= 2; generation += 1) {
      const { generation: launched } = await lifecycle.broker(node.id, generation)
      lifecycle.host.brokers.delete(node.id)
      const exit = { node_id: node.id, generation: launched, pid: 1, exit_code: 1, signal: null, clean: false }
      await lifecycle.host.peer.bus.call(contract['lifecycle.host.exited'], systemContext('host'), {
        host_id: lifecycle.host.hostId,
        exit: { ...exit, detail: 'Error: no space left on the device\n    at open (file:///x.mjs:1:1)\n' },
      })
    }
    const { status, error } = await held
    expect({ status, error }).toMatchObject({ status: 'dead', error: { kind: 'crash_loop' } })
    expect(error?.message).toContain('no space left on the device')
  })
})
