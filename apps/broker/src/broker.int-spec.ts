import { describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { toolCall } from '../../../test/support/broker-routes.js'
import { ended, liveOf, setStage, work } from '../../../test/support/running-broker.js'

const stage = setStage()

describe('a daemon that restarts', () => {
  it('is waited for: the work goes on where it was', async () => {
    stage.routes.refusal = { status: 503, code: 'service_unavailable' }
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1
          ? [toolCall('1', 'bash', { command: 'echo hi' })]
          : [toolCall('2', 'report', { kind: 'final', body: 'done' })],
      ),
    )
    stage.routes.refusal = undefined
    await waitFor(() => node.entries('tool_started').length === 1)
    stage.routes.refusal = { status: 503, code: 'service_unavailable' }
    expect(stage.broker.gone).toBe(false)
    stage.routes.refusal = undefined
    expect(await ended(node)).toMatchObject({ status: 'completed' })
    expect(node.reports).toMatchObject([{ body: 'done' }])
    expect(node.calls).toHaveLength(2)
  })

  it('that gave the node to another process ends this one and its tools', async () => {
    const node = work(
      stage,
      stage.routes.node({
        engine: 'exec',
        cwd: stage.cwd,
        exec: { argv: ['bash', '-c', 'setsid sleep 300 & sleep 300'], stdin: 'jsonl' },
      }),
    )
    await waitFor(() => node.listening && liveOf(stage.broker) > 2)
    node.generation = 2
    node.signal({ type: 'stop', reason: 'replaced' })
    await waitFor(() => stage.broker.gone && liveOf(stage.broker) === 0)
    expect(stage.broker.child.exitCode).toBe(0)
    expect(node.entries('turn_ended')).toEqual([])
  })
})

describe('the host', () => {
  it('takes the broker and its tools along when it goes', async () => {
    const node = work(
      stage,
      stage.routes.node({
        engine: 'exec',
        cwd: stage.cwd,
        exec: { argv: ['bash', '-c', 'setsid sleep 300 & sleep 300'], stdin: 'jsonl' },
      }),
    )
    await waitFor(() => liveOf(stage.broker) > 2 && node.binds.length === 1)
    stage.broker.child.disconnect()
    await waitFor(() => stage.broker.gone && liveOf(stage.broker) === 0)
  })
})
