import { beforeEach, describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { toolCall } from '../../../../test/support/broker-routes.js'
import { ended, outputsOf, setStage, succeed, work } from '../../../../test/support/running-broker.js'

const stage = setStage()
const child = newId('node')

/** Nodes that were made, by the key of the request. */
let made: Map<string, Record<string, unknown>>
beforeEach(() => {
  made = new Map()
  stage.routes.asked.length = 0
  stage.routes.others = ({ route, key, body }) => {
    if (route === 'POST /v1/nodes') {
      made.set(key, body)
      return { id: child, kind: 'general', lifecycle: 'terminal', cwd: '/tmp', worktree: null, name: 'one', ...body }
    }
    if (route.endsWith('/message')) return { message_id: 'msg_1', delivered: 'revived' }
    if (route === 'POST /v1/human/requests') return { id: 'req_1' }
    return undefined
  }
})

type Call = readonly [name: string, input: unknown]

/** Carries out one step of calls after another, and reports. */
const calling = (steps: readonly (readonly Call[])[], given: object = {}) => {
  const node = stage.routes.node({ cwd: stage.cwd, ...given }, ({ step }) => {
    const calls = steps[step - 1] ?? [['report', { kind: 'final', body: 'done' }] as const]
    return calls.map(([name, input], at) => toolCall(`c${step}.${at}`, name, input))
  })
  return work(stage, node)
}

describe('spawn', () => {
  it('makes a child for each call of a step, each under a key of its own, and says what comes of it', async () => {
    const node = calling([
      [
        ['spawn', { prompt: 'look', name: 'scout', kind: 'explore', strength: 'light', cwd: 'sub' }],
        [
          'spawn',
          { prompt: 'build', worktree: { branch: 'b' }, scopes: ['svc:llm'], result_schema: { type: 'number' } },
        ],
      ],
    ])
    await ended(node)
    expect([...made.values()]).toEqual([
      { prompt: 'look', name: 'scout', kind: 'explore', model: { strength: 'light' }, cwd: `${stage.cwd}/sub` },
      { prompt: 'build', worktree: { branch: 'b' }, scopes: ['svc:llm'], result_schema: { type: 'number' } },
    ])
    expect([...made.keys()]).toEqual([`${node.id}.1.c1.0`, `${node.id}.1.c1.1`])
    expect(outputsOf(node)[0]).toMatch(new RegExp(`^Started scout \\(${child}, kind explore\\).*call \`wait\``))
  })

  // The process was killed between the request and the record of its answer: the child must not be made twice.
  it('asks once more under the same key when the process was lost before the answer was recorded', async () => {
    const gate = Promise.withResolvers<void>()
    const answer = stage.routes.others
    stage.routes.others = (asked) => {
      if (asked.route === 'POST /v1/nodes' && made.size === 0) {
        answer(asked)
        gate.resolve()
        return { status: 503, code: 'service_unavailable', retryable: true }
      }
      return answer(asked)
    }
    const node = stage.routes.node({ cwd: stage.cwd }, ({ step }) =>
      step === 1
        ? [toolCall('c', 'spawn', { prompt: 'look' })]
        : [toolCall('d', 'report', { kind: 'final', body: 'x' })],
    )
    work(stage, node)
    await gate.promise
    stage.routes.refusal = { status: 503, code: 'service_unavailable' }
    await stage.broker.kill()
    stage.routes.refusal = undefined
    await succeed(stage, node)
    await ended(node)
    expect(new Set(stage.routes.asked.map(({ key }) => key))).toEqual(new Set([`${node.id}.1.c`]))
    expect(made.size).toBe(1)
    expect(node.entries('tool_ended')[0]).toMatchObject({ name: 'spawn', status: 'completed' })
  })

  it.each([
    ['quota_exceeded', { limit: 'depth' }, 'do this piece of work yourself'],
    ['quota_exceeded', { limit: 'children' }, 'with `message`, or do it yourself'],
    ['scope_exceeds_ceiling', {}, 'leave `scopes` out'],
    ['path_outside_scope', {}, 'leave `cwd` out'],
    ['not_found', {}, 'not_found'],
  ])('teaches what %s of %j means', async (code, fields, advice) => {
    stage.routes.others = () => ({ status: 422, code, detail: 'refused', retryable: false, ...fields })
    const node = calling([[['spawn', { prompt: 'look' }]]])
    await ended(node)
    expect(node.entries('tool_ended')[0]).toMatchObject({ status: 'failed', output: expect.stringContaining(advice) })
  })

  it('names the fields at fault', async () => {
    const errors = [{ pointer: '/kind', message: 'is unknown' }]
    stage.routes.others = () => ({ status: 422, code: 'validation_failed', detail: 'no', errors })
    const node = calling([
      [
        ['spawn', { prompt: 'look', kind: 'x' }],
        ['spawn', { prompt: ' ' }],
      ],
    ])
    await ended(node)
    const [first, second] = outputsOf(node)
    expect(first).toMatch(/^validation_failed: no.*\n\/kind: is unknown$/)
    expect(second).toBe('"prompt" is empty: say what the child is to do.')
  })

  it('is there only for who may act', async () => {
    const node = calling([[['spawn', { prompt: 'look' }]]], { scopes: ['svc:llm'] })
    await ended(node)
    expect(outputsOf(node)[0]).toBe('There is no tool "spawn". There are: svc, wait, yield, report.')
    expect(made.size).toBe(0)
  })
})

describe('message and nodes', () => {
  it('write to another node once, and say how it was delivered', async () => {
    const node = calling([
      [['message', { node_id: child, body: 'go on', tier: 'urgent' }]],
      [['message', { node_id: 'scout', body: 'go on' }]],
    ])
    await ended(node)
    expect(stage.routes.asked).toEqual([
      { route: `POST /v1/nodes/${child}/message`, key: `${node.id}.1.c1.0`, body: { body: 'go on', tier: 'urgent' } },
    ])
    const [sent, wrong] = outputsOf(node)
    expect(sent).toBe('Sent. It was at rest or had ended, and is woken by it.')
    expect(wrong).toContain('must be the id of a node')
  })

  it('show a node with its report, and the ones below without the node itself', async () => {
    const self = { id: '', name: 'me', status: 'active', waiting: null, fault: null, kind: 'general', parent_id: null }
    const one = {
      ...self,
      id: child,
      name: 'scout',
      status: 'idle',
      waiting: { reason: 'rain' },
      lifecycle: 'terminal',
    }
    const node = stage.routes.node({ cwd: stage.cwd }, ({ step }) => {
      if (step === 1)
        return [toolCall('a', 'nodes', { action: 'list' }), toolCall('b', 'nodes', { action: 'show', node_id: child })]
      return [toolCall('c', 'report', { kind: 'final', body: 'x' })]
    })
    stage.routes.others = ({ route }) => {
      if (route === 'GET /v1/nodes') return { data: [one, { ...self, id: node.id }], next_cursor: null }
      if (route.endsWith('/outcome')) return { final_report: null, error: null }
      if (route.endsWith('/reports')) return { data: [{ kind: 'update', body: 'half' }], next_cursor: null }
      return { ...one, cwd: '/w', worktree: null }
    }
    work(stage, node)
    await ended(node)
    expect(outputsOf(node).slice(0, 2)).toEqual([
      `${child}  scout  general  at rest (waits: rain)`,
      `scout (${child}), kind general, terminal: at rest (waits: rain)\nworks in /w\nIts update report:\nhalf`,
    ])
  })

  it('interrupt and cancel, and name who was spared', async () => {
    const other = newId('node')
    stage.routes.others = ({ route }) =>
      route.endsWith('/cancel') ? { canceled: [child], spared: [other] } : { interrupted: true }
    const node = calling([
      [['nodes', { action: 'interrupt', node_id: child }]],
      [['nodes', { action: 'cancel', node_id: child }]],
    ])
    await ended(node)
    expect(outputsOf(node)[1]).toBe(
      `Canceled for good: ${child}. Somebody else watches these, so they go on: ${other}.`,
    )
    expect(stage.routes.asked.map(({ key }) => key)).toEqual([`${node.id}.1.c1.0`, `${node.id}.1.c2.0`])
  })

  // "not found" of the node itself means that this process hosts it no more; of another one it is an answer.
  it('go on when a node is not there', async () => {
    const node = calling([
      [['nodes', { action: 'show', node_id: child }]],
      [['message', { node_id: child, body: 'x' }]],
    ])
    stage.routes.others = () => undefined
    await ended(node)
    expect(node.entries('tool_ended').map(({ status }) => status)).toEqual(['failed', 'failed', 'completed'])
  })
})

describe('ask_human', () => {
  it('stores the questions as pages and goes on at once', async () => {
    const long = `${'why '.repeat(60)}?`
    const node = calling([
      [
        [
          'ask_human',
          {
            questions: [
              { question: 'Which one?', details: 'of two', options: [{ label: 'A', description: 'cheap' }, 'B'] },
              { question: long, multi_select: true, options: ['x'], freetext: false },
              'Anything else?',
            ],
          },
        ],
      ],
    ])
    await ended(node)
    const decision = { kind: 'decision', multiSelect: false, allowFreetext: true }
    expect(stage.routes.asked).toMatchObject([
      {
        key: `${node.id}.1.c1.0`,
        body: {
          title: 'Which one?',
          pages: [
            {
              ...decision,
              id: 'q1',
              title: 'Which one?',
              body: 'of two',
              options: [
                { id: 'o1', label: 'A', description: 'cheap' },
                { id: 'o2', label: 'B' },
              ],
            },
            { ...decision, id: 'q2', body: long, multiSelect: true, allowFreetext: false },
            { ...decision, id: 'q3', title: 'Anything else?', options: [] },
          ],
        },
      },
    ])
    expect(outputsOf(node)[0]).toContain('call `wait`')
  })
})

describe('roadmap and promote', () => {
  it('are offered to what the node is at the moment', async () => {
    const node = calling([
      [
        ['roadmap', { action: 'read' }],
        ['promote', { roadmap: '# Goal', resident: true }],
      ],
      [
        ['roadmap', { action: 'read' }],
        ['promote', {}],
      ],
      [['roadmap', { action: 'write', text: '# Goal' }]],
      [['roadmap', { action: 'read' }]],
    ])
    await ended(node)
    const [early, , none, twice, written, read] = outputsOf(node)
    expect(early).toContain('There is no tool "roadmap"')
    expect(none).toContain('There is none yet: write one.')
    expect(twice).toContain('There is no tool "promote"')
    expect(written).toBe('Written: version 1.')
    expect(read).toBe('[version 1]\n# Goal')
  })
})
