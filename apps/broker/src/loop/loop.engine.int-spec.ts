import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { text, toolCall } from '../../../../test/support/broker-routes.js'
import { ended, isAlone, liveOf, outputsOf, setStage, work } from '../../../../test/support/running-broker.js'

const stage = setStage()

describe('the loop', () => {
  it('records a message and its calls before it runs them, side by side, and ends with the final report', async () => {
    writeFileSync(join(stage.cwd, 'a.txt'), 'alpha')
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1
          ? [
              text('looking'),
              toolCall('c', 'read', { path: 'a.txt' }),
              toolCall('c', 'bash', { command: 'pwd; env | sort; exit 3' }),
            ]
          : [toolCall('c', 'report', { kind: 'final', body: 'it says alpha' })],
      ),
    )
    await ended(node)
    expect(node.journal.map(({ type }) => type)).toEqual([
      'turn_started',
      'message',
      'tool_started',
      'tool_started',
      'tool_ended',
      'tool_ended',
      'message',
      'tool_started',
      'tool_ended',
      'turn_ended',
    ])
    expect(new Set(node.entries('tool_started').map(({ call_id }) => call_id)).size).toBe(3)
    const [read, bash] = outputsOf(node)
    expect(read).toContain('alpha')
    expect(bash).toContain(stage.cwd)
    expect(bash).toContain('[exit code 3]')
    expect(bash).toContain(`SVC_NODE_ID=${node.id}`)
    expect(node.entries('turn_ended')).toEqual([{ type: 'turn_ended', turn: 1, status: 'completed' }])
    expect(node.reports).toMatchObject([{ kind: 'final', body: 'it says alpha' }])
    expect(node.calls).toHaveLength(2)
    await waitFor(() => stage.broker.said.length > 0)
    expect(stage.broker.said).toEqual([{ type: 'released', node_id: node.id, generation: 1, spawned: true }])
  })

  // What the model said last came to watchers once more, after the message that held it.
  it('says nothing live of a message that is recorded already', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1 ? [text('at once'), toolCall('1', 'bash', { command: 'echo out; sleep 0.2' })] : [text('done')],
      ),
    )
    await ended(node)
    expect(node.deltas.map(({ channel, text: said }) => [channel, said])).toEqual([['tool_output', 'out\n']])
  })

  it('teaches a model that calls wrongly, and goes on', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd, scopes: ['svc:llm'] }, ({ step }) => {
        if (step === 1)
          return [toolCall('1', 'bash', { command: 'true' }), toolCall('2', 'report', { kind: 'update', text: 'x' })]
        return [text('enough')]
      }),
    )
    await ended(node)
    expect(outputsOf(node)).toEqual([
      'There is no tool "bash". There are: svc, wait, yield, report.',
      'This tool has no "text"; it takes: kind, body.',
    ])
    expect(node.calls[0]?.tools.map(({ name }) => name)).toEqual(['svc', 'wait', 'yield', 'report'])
  })

  it('demands the typed result, once', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd, result_schema: { type: 'number' } }, ({ step }) => {
        if (step === 1) return [text('four, I think')]
        return [toolCall('1', 'submit_result', { value: 4 })]
      }),
    )
    await ended(node)
    expect(node.result).toBe(4)
    expect(node.calls).toHaveLength(2)
  })

  it('keeps long output in a file that the model can read', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) => {
        if (step === 1) return [toolCall('1', 'bash', { command: 'seq 100000' })]
        if (step === 2)
          return [toolCall('2', 'read', { path: join(stage.cwd, '.scratch', '1-1.log'), offset: 50_000, limit: 1 })]
        return [text('done')]
      }),
    )
    await ended(node)
    const [long, part] = outputsOf(node)
    expect(long).toContain('the whole output is in')
    expect(long!.length).toBeLessThan(31_000)
    expect(part).toContain('50000\t50000')
  })

  it('ends a command at its time limit, with what it started', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1 ? [toolCall('1', 'bash', { command: 'setsid sleep 300 & sleep 300', timeout: 1 })] : [text('done')],
      ),
    )
    await waitFor(() => node.entries('tool_ended').length > 0)
    expect(outputsOf(node)[0]).toContain('[ended after 1 s')
    await waitFor(() => isAlone(stage.broker))
  })

  // `env -i` takes the mark away by which a program is found: such a command used to outlive its time limit, and hang.
  it('ends a command that wiped its environment', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1 ? [toolCall('1', 'bash', { command: 'exec env -i sleep 300', timeout: 1 })] : [text('done')],
      ),
    )
    await waitFor(() => node.entries('tool_ended').length > 0)
    expect(outputsOf(node)[0]).toContain('[ended after 1 s')
  })

  it("never records or streams the node's own token, however a tool comes to print it", async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) => {
        if (step === 1)
          return [
            toolCall('1', 'bash', {
              command:
                'env | tee kept; printf %s "$SVC_TOKEN" | head -c 9; sleep 0.1; printf %s "$SVC_TOKEN" | tail -c +10',
            }),
          ]
        if (step === 2)
          return [toolCall('2', 'read', { path: 'kept' }), toolCall('3', 'search', { pattern: 'SVC_TOKEN' })]
        return [text('done')]
      }),
    )
    await ended(node)
    expect(readFileSync(join(stage.cwd, 'kept'), 'utf8')).toContain(node.token)
    expect(outputsOf(node)).toHaveLength(3)
    for (const output of outputsOf(node)) expect(output).toContain("SVC_TOKEN=[the node's token]")
    expect(JSON.stringify([node.journal, node.deltas, node.calls])).not.toContain(node.token)
  })

  it('tells how to run a command that is too long for the system', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1 ? [toolCall('1', 'bash', { command: `: ${'x'.repeat(200_000)}` })] : [text('done')],
      ),
    )
    await ended(node)
    expect(outputsOf(node)).toEqual([
      'The command is longer than the system takes: put it into a file with write, and run that.',
    ])
  })

  it.each([
    ['the provider fails for good', { status: 502, code: 'model_error', reason: 'auth', detail: 'bad key' }, 'auth', 1],
    ['nobody knows the model', { status: 422, code: 'model_not_found', detail: 'no such model' }, 'model_not_found', 1],
    ['no model is configured', { status: 503, code: 'model_not_configured', retryable: false }, 'model_not_found', 1],
    ['its app has lost its grant', { status: 403, code: 'grant_revoked', retryable: false }, 'grant', 1],
    [
      'the wait would be long',
      { status: 502, code: 'model_error', reason: 'rate_limit', retry_after_ms: 600_000 },
      'rate_limit',
      1,
    ],
    [
      'it fails again and again',
      { status: 502, code: 'model_error', reason: 'overloaded', retry_after_ms: 5 },
      'overloaded',
      4,
    ],
  ] as const)('ends the turn with the fault when %s', async (_, problem, kind, calls) => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, () => problem),
    )
    expect(await ended(node)).toMatchObject({ status: 'failed', fault: { kind } })
    expect(node.calls).toHaveLength(calls)
  })

  it('aborts the turn at an interrupt, with its tools, and works on with the next message', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, ({ turn }) =>
        turn === 1 ? [toolCall('1', 'bash', { command: 'setsid sleep 300; sleep 300' })] : [text('as you wish')],
      ),
    )
    await waitFor(() => node.listening)
    await waitFor(() => liveOf(stage.broker) > 1)
    node.mail.push({ ...node.post('never mind', { tier: 'deferred' }) })
    node.signal({ type: 'interrupt', request: 1 })
    await waitFor(() => node.entries('turn_ended').length === 2)
    expect(node.entries('tool_ended')).toMatchObject([{ status: 'canceled' }])
    expect(node.entries('turn_ended')).toMatchObject([
      { turn: 1, status: 'interrupted' },
      { turn: 2, status: 'completed' },
    ])
    await waitFor(() => isAlone(stage.broker))
  })

  it('lets an interrupt that was meant for an earlier turn pass', async () => {
    const node = stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
      step === 1 ? [toolCall('1', 'bash', { command: 'while [ ! -e go ]; do sleep 0.02; done' })] : [text('done')],
    )
    node.journal.push(
      { type: 'turn_started', turn: 1, mail: [], content: [text('before')] },
      { type: 'turn_ended', turn: 1, status: 'completed' },
    )
    work(stage, node)
    await waitFor(() => node.listening && node.entries('tool_started').length === 1)
    node.signal({ type: 'interrupt', request: 1 })
    node.post('look', { tier: 'urgent' })
    writeFileSync(join(stage.cwd, 'go'), '')
    expect(await ended(node)).toMatchObject({ turn: 2, status: 'completed' })
  })

  it('cancels a model call that is interrupted, at once', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, () => new Promise<never>(() => undefined)),
    )
    await waitFor(() => node.listening && node.calls.length === 1)
    node.signal({ type: 'interrupt', request: 1 })
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'interrupted' })
    await waitFor(() => node.requests.includes('POST broker/model-calls/cancel'))
  })

  it('lets critical mail abort the turn and begin the next', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ turn }) =>
        turn === 1 ? new Promise<never>(() => undefined) : [text('stopped')],
      ),
    )
    await waitFor(() => node.listening && node.calls.length === 1)
    node.post('stop at once', { tier: 'critical' })
    await waitFor(() => node.entries('turn_ended').length === 2)
    expect(node.entries('turn_ended')).toMatchObject([{ status: 'interrupted' }, { status: 'completed' }])
    expect(JSON.stringify(node.calls[1]?.messages)).toContain('stop at once')
  })

  // Several announcements may be on their way for one piece of mail; a late one used to abort the turn that had begun
  // with it, and the message was lost on a node that went to rest.
  it('works on critical mail that is announced once more', async () => {
    const gate = Promise.withResolvers<void>()
    const node = stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, async () => {
      await gate.promise
      return [text('at once')]
    })
    node.post('stop', { tier: 'critical' })
    stage.broker.serve(node, stage.routes.url)
    await waitFor(() => node.listening && node.calls.length === 1 && node.mail.length === 0)
    node.signal({ type: 'mail', urgent: true, critical: true })
    await waitFor(() => node.requests.includes('POST mail/claim'))
    gate.resolve()
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'completed' })
  })

  it('takes urgent mail in between two steps', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
        step === 1 ? [toolCall('1', 'bash', { command: 'while [ ! -e go ]; do sleep 0.02; done' })] : [text('done')],
      ),
    )
    await waitFor(() => node.listening)
    node.post('look left', { tier: 'urgent' })
    await waitFor(() => node.calls.length === 1)
    writeFileSync(join(stage.cwd, 'go'), '')
    await ended(node)
    expect(JSON.stringify(node.calls[1]?.messages)).toContain('look left')
    expect(node.mail).toEqual([])
  })
})
