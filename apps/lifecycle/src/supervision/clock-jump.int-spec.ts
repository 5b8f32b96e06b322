import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, said, started } from '../../../../test/support/lifecycle-service.js'

const hour = 3_600_000
const { now } = systemClock

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterEach(() => {
  systemClock.now = now
})
afterAll(() => lifecycle.stop())

/** Somebody sets the clock of the machine. */
const jump = (ms: number): void => {
  systemClock.now = () => now() + ms
}

/** One that is at work, and one whose process is on its way. */
const two = async () => {
  const atWork = await lifecycle.running()
  await atWork.broker.append(started(1, atWork.assignment.mail))
  const launching = await lifecycle.create()
  await lifecycle.broker(launching.id)
  return { atWork, launching }
}

/** Has every node looked at so often. */
const looks = async (times: number): Promise<void> => {
  for (let look = 0; look < times; look += 1) {
    const stray = await lifecycle.running()
    await lifecycle.host.lose(stray.node.id, 1)
    await lifecycle.bound(stray.node.id, 2)
  }
}

describe.each([
  ['ahead', hour],
  ['back', -hour],
])('a clock that is set %s', (_, ms) => {
  // Fault 44: what was on its way was given up at once, and processes that lived were taken for dead.
  it('gives up no node that is at work or on its way', async () => {
    const { atWork, launching } = await two()
    jump(ms)
    await looks(3)
    expect(await lifecycle.retrieve(launching.id)).toMatchObject({ status: 'active', generation: 1 })
    expect(await lifecycle.retrieve(atWork.node.id)).toMatchObject({ status: 'active', generation: 1 })
    await atWork.broker.append(said(1, 1), { type: 'turn_ended', turn: 1, status: 'completed' })
    expect(await lifecycle.retrieve(atWork.node.id)).toMatchObject({ status: 'idle' })
  })

  // Fault 44: a clock that was an hour ahead was put right, and a wait of a second took an hour.
  it('keeps no node waiting longer for its next process than it would have waited', async () => {
    const { node } = await lifecycle.running()
    await lifecycle.host.lose(node.id, 1)
    await lifecycle.bound(node.id, 2)
    await lifecycle.host.lose(node.id, 2)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 3 })
    jump(ms)
    await waitFor(() => lifecycle.host.launchesOf(node.id).length === 3, { what: 'the third launch', timeout: 10_000 })
    await lifecycle.bound(node.id, 3)
  })

  it('has mail wake a node that waits by the clock, as ever', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    await broker.call('nodes.wait', { timeout: 86_400 })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    jump(ms)
    await lifecycle.message(node.id, 'wake up')
    const woken = await lifecycle.bound(node.id, 2)
    expect(woken.assignment.mail.map(({ body }) => body)).toEqual(['wake up'])
  })
})
