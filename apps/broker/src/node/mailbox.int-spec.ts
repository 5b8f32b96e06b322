import { describe, expect, it } from '@jest/globals'
import { isoTime, systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type PlayedNode, text } from '../../../../test/support/broker-routes.js'
import { ended, setStage, work } from '../../../../test/support/running-broker.js'

const stage = setStage()
const nowIso = (): string => isoTime(systemClock.now())

/** Its first turn waits for the gate; the node goes on as long as it has mail. */
const atFirstTurn = async (gate: Promise<void>): Promise<PlayedNode> => {
  const node = stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, async ({ turn }) => {
    if (turn === 1) await gate
    return [text('so')]
  })
  work(stage, node)
  await waitFor(() => node.calls.length === 1 && node.mail.length === 0, { what: 'the first turn' })
  return node
}
const taken = (node: PlayedNode): number[] => node.entries('turn_started').map(({ mail }) => mail.length)

describe('mail for a node that just ended a turn', () => {
  // Three children that reported within a second cost three turns, each with the whole conversation.
  it('that comes within a second of each other is one turn', async () => {
    const gate = Promise.withResolvers<void>()
    const node = await atFirstTurn(gate.promise)
    node.post('one', { created_at: nowIso() })
    gate.resolve()
    await waitFor(() => node.entries('turn_ended').length === 1)
    node.post('two', { created_at: nowIso() })
    node.post('three', { created_at: nowIso() })
    await ended(node)
    expect(taken(node)).toEqual([1, 3])
  })

  it.each([
    ['steers', () => ({ tier: 'urgent', created_at: nowIso() }) as const],
    ['came long ago', () => ({})],
  ])('that %s is not waited with', async (_what, mail) => {
    const gate = Promise.withResolvers<void>()
    const node = await atFirstTurn(gate.promise)
    node.post('now', mail())
    const began = systemClock.monotonic()
    gate.resolve()
    await waitFor(() => node.entries('turn_started').length === 2)
    expect(systemClock.monotonic() - began).toBeLessThan(900)
    await ended(node)
  })
})

describe('the first mail of a node', () => {
  it('is never held up', async () => {
    const node = stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' })
    node.post('wake up', { created_at: isoTime(systemClock.now() + 60_000) })
    stage.broker.serve(node, stage.routes.url)
    const began = await waitFor(() => node.binds.length > 0 && systemClock.monotonic())
    await ended(node)
    expect(systemClock.monotonic() - began).toBeLessThan(900)
    expect(node.requests.filter((route) => route === 'POST mail/claim')).toEqual([])
  })
})

describe('a turn', () => {
  const trace = (digit: string): string => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`

  it('goes on with the trace of its first mail in all that it asks, and the next one with its own', async () => {
    const gate = Promise.withResolvers<void>()
    const node = stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, async ({ turn }) => {
      if (turn === 1) await gate.promise
      return [text('so')]
    })
    node.post('one', { traceparent: trace('a') })
    node.post('two', { traceparent: trace('b') })
    stage.broker.serve(node, stage.routes.url)
    await waitFor(() => node.calls.length === 1 && node.mail.length === 0, { what: 'the first turn' })
    node.post('three', { tier: 'normal' })
    gate.resolve()
    await waitFor(() => node.calls.length === 2, { what: 'the second turn' })
    await ended(node)
    expect(new Set(node.traced.map(({ traceparent }) => traceparent))).toEqual(new Set([trace('a')]))
    const routes = node.traced.map(({ route }) => route)
    expect(routes).toEqual(expect.arrayContaining(['POST broker/journal', 'POST broker/model-calls']))
    expect(routes.filter((route) => route === 'POST broker/model-calls')).toHaveLength(1)
  })
})
