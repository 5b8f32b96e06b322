import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { systemContext } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_LAUNCH_BUDGET: 3 } })
})
afterAll(() => lifecycle.stop())

/** A resident that rests, with a child at work. */
const family = async () => {
  const { node: parent, broker, assignment } = await lifecycle.running()
  await broker.turn(1, assignment.mail)
  return { parent, child: await lifecycle.running({ parent_id: parent.id, name: 'hand' }) }
}

describe('a lost process', () => {
  it('is followed by the next at once, later ones wait longer, and as many as the budget has are the last', async () => {
    const { parent, child } = await family()
    const { id } = child.node
    await lifecycle.host.lose(id, 1, { signal: 'SIGKILL' })
    expect(await lifecycle.retrieve(id)).toMatchObject({ status: 'active', generation: 2, cycles: 2 })
    for (let generation = 2; generation <= 3; generation += 1) {
      await lifecycle.bound(id, generation)
      await lifecycle.host.lose(id, generation, { signal: 'SIGKILL' })
    }
    const outcome = await lifecycle.outcome(id)
    expect(outcome).toMatchObject({ status: 'dead', settled: true, error: { kind: 'crash_loop' } })
    expect(outcome.error?.message).toContain('SIGKILL')
    expect(new Set(lifecycle.host.launchesOf(id).map(({ generation }) => generation))).toEqual(new Set([1, 2, 3]))
    const { assignment } = await lifecycle.bound(parent.id, 2)
    expect(assignment.mail).toMatchObject([{ kind: 'notice', tier: 'urgent' }])
    expect(assignment.mail[0]?.body).toContain('hand')
  })

  it('that had been replaced is no loss, nor is one of a node that rests, or that nobody knows', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await lifecycle.host.lose(node.id, 1)
    await lifecycle.bound(node.id, 2)
    await lifecycle.host.peer.bus.call(contract['lifecycle.host.exited'], systemContext('host'), {
      host_id: lifecycle.host.hostId,
      exit: { node_id: node.id, generation: 1, pid: 1, exit_code: 0, signal: null, clean: true, detail: null },
    })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 2 })
    expect(await failure(broker.turn(1, assignment.mail))).toMatchObject({ code: 'stale_generation' })

    const rest = await lifecycle.running()
    await rest.broker.turn(1, rest.assignment.mail)
    await lifecycle.host.lose(rest.node.id, 1, { clean: true })
    expect(await lifecycle.retrieve(rest.node.id)).toMatchObject({ status: 'idle', generation: 1 })
    // A notice about a node that had been deleted was once refused for ever, and held up every notice behind it.
    await lifecycle.host.lose(newId('node'), 1)
  })

  it('keeps the open turn for its successor', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    await lifecycle.host.lose(node.id, 1)
    const { broker: next, assignment: given } = await lifecycle.bound(node.id, 2)
    expect(given.journal.map(({ entry }) => entry.type)).toEqual(['turn_started'])
    expect(await next.append(said(1, 1), { type: 'turn_ended', turn: 1, status: 'completed' })).toMatchObject({
      next: 'stop',
    })
  })
})

describe('a call that was under way when its node ended', () => {
  const atWork = async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
    const call = { type: 'tool_started', turn: 1, step: 1, call_id: 'call-1', name: 'bash', input: {} } as const
    await broker.append(started(1, assignment.mail), said(1, 1), call)
    return { node, broker }
  }
  const endOf = async (id: string) => {
    const { events, settled } = await lifecycle.call('lifecycle.node.readEvents', { id, after: 0, limit: 100 })
    const [ended, turn] = events.slice(-2)
    return { settled, types: [ended?.type, turn?.type], call: ended?.data.status, turn: turn?.data.status }
  }

  // A final report ends its node; the process died before it could record the end of the call that had pushed it, and
  // the record of a node that was done had a call without an end for ever.
  it('has an unknown end when its process is lost right after the final report', async () => {
    const { node, broker } = await atWork()
    await broker.push('final', 'done')
    expect(await endOf(node.id)).toMatchObject({ settled: false })

    await lifecycle.host.lose(node.id, 1, { signal: 'SIGKILL' })

    const types = ['tool.ended', 'turn.ended']
    expect(await endOf(node.id)).toEqual({ settled: true, types, call: 'outcome_unknown', turn: 'completed' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done' })
  })

  it('is canceled with its node, once its process is gone', async () => {
    const { node } = await atWork()
    await lifecycle.call('nodes.cancel', { id: node.id })

    await lifecycle.host.lose(node.id, 1, { signal: 'SIGKILL' })

    expect(await endOf(node.id)).toMatchObject({ settled: true, call: 'canceled', turn: 'interrupted' })
  })

  it('has its end also when the host died and told nothing', async () => {
    const { node, broker } = await atWork()
    await broker.push('final', 'done')
    lifecycle.host.brokers.delete(node.id)

    await waitFor(
      async () => {
        await lifecycle.host.hello()
        return (await endOf(node.id)).settled
      },
      { interval: 200 },
    )

    expect(await endOf(node.id)).toMatchObject({ call: 'outcome_unknown', turn: 'completed' })
  })
})

describe('a host', () => {
  it('that was restarted has lost its processes, which costs no node any of its budget', async () => {
    const { node } = await lifecycle.running()
    for (let generation = 1; generation <= 8; generation += 1) {
      lifecycle.host.brokers.clear()
      lifecycle.host.incarnation = `again-${generation}`
      await lifecycle.host.hello()
      await lifecycle.bound(node.id, generation + 1)
    }
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 9, fault: null })
  })

  it('that hosts what nobody wants any more is told to end it', async () => {
    const { node } = await lifecycle.running()
    await lifecycle.call('nodes.cancel', { id: node.id })
    await waitFor(() => lifecycle.host.stops.some(({ node_id }) => node_id === node.id))
    const before = lifecycle.host.stops.length
    const stray = { node_id: node.id, generation: 1, pid: 9, started_at: '2026-01-01T00:00:00.000Z', scopes: [] }
    lifecycle.host.brokers.set(node.id, stray)
    await lifecycle.host.hello()
    await waitFor(() => lifecycle.host.stops.length > before)
    expect(lifecycle.host.stops.at(-1)).toMatchObject({ node_id: node.id, generation: 1 })
  })

  it('of another version is refused, and told what to restart', async () => {
    const { code, fields } = await failure(lifecycle.host.hello({ version: '99.0.0' }))
    expect({ code, fields }).toEqual({ code: 'version_mismatch', fields: { remedy: expect.any(String) } })
  })

  it('that is full is asked again until it has room', async () => {
    let refusals = 3
    lifecycle.host.onLaunch = () => {
      refusals -= 1
      if (refusals >= 0) throw new SvcError('quota_exceeded', undefined, { limit: 'live_brokers' })
    }
    const node = await lifecycle.create()
    await lifecycle.bound(node.id)
    expect(refusals).toBeLessThan(0)
    lifecycle.host.onLaunch = () => undefined
  })

  it('that is shown by status with what it carries', async () => {
    await lifecycle.host.hello()
    const { hosts, epoch } = await lifecycle.call('lifecycle.status', {})
    expect(hosts).toMatchObject([{ host_id: lifecycle.host.hostId, warm: 1, cap: 64 }])
    expect(epoch).toBeGreaterThan(0)
  })
})
