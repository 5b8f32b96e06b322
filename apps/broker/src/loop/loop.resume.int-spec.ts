import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { text, toolCall } from '../../../../test/support/broker-routes.js'
import { ended, setStage, succeed, work } from '../../../../test/support/running-broker.js'

const stage = setStage()

// The daemon launches a node anew after a provider's passing fault. Its turn has ended by then and its mail is read, so
// that the new process used to wait for mail, for ever.
describe('a turn that the provider failed', () => {
  it('is begun again by the process that is started for it', async () => {
    const node = stage.routes.node({ cwd: stage.cwd })
    const fault = { kind: 'overloaded' as const, message: 'try later' }
    node.journal.push(
      { type: 'turn_started', turn: 1, mail: [], content: [text('the work')] },
      { type: 'turn_ended', turn: 1, status: 'failed', fault },
    )
    stage.broker.serve(node, stage.routes.url)
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 2, status: 'completed', final: 'done' })
    expect(node.calls).toHaveLength(1)
    expect(JSON.stringify(node.calls[0]?.messages)).toMatch(/the work.*Go on with the work/)
  })

  it('waits for a message like any other where the turn was interrupted instead', async () => {
    const node = stage.routes.node({ cwd: stage.cwd })
    node.journal.push(
      { type: 'turn_started', turn: 1, mail: [], content: [text('the work')] },
      { type: 'turn_ended', turn: 1, status: 'interrupted' },
    )
    stage.broker.serve(node, stage.routes.url)
    await waitFor(() => node.listening)
    expect(node.calls).toEqual([])
    node.post('now')
    expect(await ended(node)).toMatchObject({ turn: 2, status: 'completed' })
  })
})

describe('a process that was lost', () => {
  it('leaves a call whose end is unknown: said, and not run again', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1
          ? [toolCall('1', 'bash', { command: 'echo run >> runs; sleep 300' })]
          : [toolCall('2', 'report', { kind: 'final', body: 'I looked' })],
      ),
    )
    await waitFor(() => readFileSync(join(stage.cwd, 'runs'), 'utf8'))
    await succeed(stage, node)
    await ended(node)
    expect(readFileSync(join(stage.cwd, 'runs'), 'utf8')).toBe('run\n')
    expect(node.entries('tool_ended')).toMatchObject([{ status: 'outcome_unknown' }, { name: 'report' }])
    expect(node.calls.map(({ turn, step }) => `${turn}/${step}`)).toEqual(['1/1', '1/2'])
    expect(JSON.stringify(node.calls[1]?.messages)).toContain('may have taken effect')
  })

  it('leaves a conversation of any length, which is read by pages', async () => {
    const node = stage.routes.node({ cwd: stage.cwd })
    for (let turn = 1; turn <= 5; turn += 1) {
      node.journal.push(
        { type: 'turn_started', turn, mail: [], content: [text(`question ${turn}`)] },
        { type: 'message', turn, step: 1, role: 'assistant', content: [text(`answer ${turn}`)] },
        { type: 'turn_ended', turn, status: 'completed' },
      )
    }
    node.journalPage = 4
    node.post('and now?')
    stage.broker.serve(node, stage.routes.url)
    await ended(node)
    const asked = JSON.stringify(node.calls[0]?.messages)
    for (let turn = 1; turn <= 5; turn += 1) expect(asked).toContain(`answer ${turn}`)
    expect(node.requests.filter((route) => route === 'GET broker/journal')).toHaveLength(3)
  })

  it('leaves an answer that is read back instead of bought again', async () => {
    let asked = 0
    let answer: (() => void) | undefined
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, async () => {
        asked += 1
        await new Promise<void>((resolve) => {
          answer = resolve
        })
        return [text('paid for')]
      }),
    )
    await waitFor(() => answer && node.entries('turn_started').length === 1)
    await stage.broker.kill()
    answer?.()
    await succeed(stage, node)
    expect(await ended(node)).toMatchObject({ final: 'paid for' })
    expect(asked).toBe(1)
  })

  it.each([false, true])(
    'finishes a final report that may stand already (%s), and publishes it once',
    async (stands) => {
      const node = stage.routes.node({ cwd: stage.cwd })
      const input = { kind: 'final', body: 'all done' }
      node.journal.push(
        { type: 'turn_started', turn: 1, mail: [], content: [text('go')] },
        { type: 'message', turn: 1, step: 1, role: 'assistant', content: [toolCall('1', 'report', input)] },
        { type: 'tool_started', turn: 1, step: 1, call_id: '1', name: 'report', input },
      )
      if (stands) node.reports.push({ ...input, engagement: 1 })
      stage.broker.serve(node, stage.routes.url)
      await ended(node)
      expect(node.entries('tool_ended')).toMatchObject([{ status: 'completed' }])
      expect(node.reports).toEqual([expect.objectContaining(input)])
      expect(node.calls).toEqual([])
    },
  )

  it('starts a job again under the key of its call, which makes it one job', async () => {
    const node = stage.routes.node({ cwd: stage.cwd }, () => [text('done')])
    const input = { command: 'npm test', background: true }
    node.journal.push(
      { type: 'turn_started', turn: 1, mail: [], content: [text('go')] },
      { type: 'message', turn: 1, step: 1, role: 'assistant', content: [toolCall('c7', 'bash', input)] },
      { type: 'tool_started', turn: 1, step: 1, call_id: 'c7', name: 'bash', input },
    )
    stage.broker.serve(node, stage.routes.url)
    await ended(node)
    expect([...node.jobs]).toEqual([[`${node.id}.1.c7`, 'npm test']])
    expect(node.entries('tool_ended')).toMatchObject([
      { status: 'completed', output: expect.stringContaining('job_01jd0000000000000000000000') },
    ])
  })

  it('repeats a report under its own key, since that has no second effect', async () => {
    const node = stage.routes.node({ cwd: stage.cwd }, () => [text('done')])
    node.journal.push(
      { type: 'turn_started', turn: 1, mail: [], content: [text('go')] },
      {
        type: 'message',
        turn: 1,
        step: 1,
        role: 'assistant',
        content: [toolCall('1', 'report', { kind: 'update', body: 'half' })],
      },
      { type: 'tool_started', turn: 1, step: 1, call_id: '1', name: 'report', input: { kind: 'update', body: 'half' } },
    )
    stage.broker.serve(node, stage.routes.url)
    await ended(node)
    expect(node.entries('tool_ended')).toMatchObject([{ status: 'completed', output: 'Reported.' }])
  })
})
