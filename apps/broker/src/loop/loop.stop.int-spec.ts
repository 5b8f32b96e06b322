import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { ContentPart } from '#common/contract/index.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Model, type Scripted, text, toolCall } from '../../../../test/support/broker-routes.js'
import { ended, outputsOf, setStage, work } from '../../../../test/support/running-broker.js'

const stage = setStage()

const say = (answers: readonly Scripted[]): Model => {
  return ({ step }) => answers[step - 1] ?? [text('past the end')]
}
const shell = (command: string, call = 'c'): ContentPart => toolCall(call, 'bash', { command })
const asksOf = (requests: readonly string[]): number => requests.filter((one) => one === 'POST broker/settle').length

describe('a terminal node that stops without a call', () => {
  it('ends with its text when it did nothing but answer, and asks nobody', async () => {
    const node = work(stage, stage.routes.node({ cwd: stage.cwd }, say([[text('four')]])))
    expect(await ended(node)).toMatchObject({ status: 'completed', final: 'four' })
    expect(node.calls).toHaveLength(1)
    expect(asksOf(node.requests)).toBe(0)
  })

  it('is told once more what it may do, and is then taken at its last words', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, say([[shell('true')], [text('I could go on.')], [text('All is done.')]])),
    )
    expect(await ended(node)).toMatchObject({ status: 'completed', final: 'All is done.' })
    expect(node.calls).toHaveLength(3)
    expect(JSON.stringify(node.calls[2]?.messages.at(-1))).toMatch(/You stopped, .*ask_human/)
  })

  it('ends with what it reports when told', async () => {
    const node = work(
      stage,
      stage.routes.node(
        { cwd: stage.cwd },
        say([[shell('true')], [text('Now I stop.')], [toolCall('r', 'report', { kind: 'final', body: 'the end' })]]),
      ),
    )
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(node.reports).toMatchObject([{ kind: 'final', body: 'the end' }])
  })

  it('keeps the words that it said when it has none left', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, say([[shell('true')], [text('It is four.')], [text(' ')]])),
    )
    expect(await ended(node)).toMatchObject({ status: 'completed', final: 'It is four.' })
  })

  it('is not failed for want of an answer that it need not have given, and that is said', async () => {
    const gone = { status: 422, code: 'model_not_found', detail: 'no such model' }
    const node = work(stage, stage.routes.node({ cwd: stage.cwd }, say([[shell('true')], [text('It is four.')], gone])))
    expect(await ended(node)).toMatchObject({ status: 'completed', final: 'It is four.' })
    expect(JSON.stringify(node.entries('message').at(-1))).toContain('no such model')
  })

  // Fault 25: a notice was read, nothing followed from it, and the piece of work was over with "Noted.".
  it('is told once more when all it says of a notice is that it has read it', async () => {
    const node = stage.routes.node({ cwd: stage.cwd }, ({ turn, step }) =>
      turn === 2
        ? say([[text('Noted.')], [toolCall('r', 'report', { kind: 'final', body: 'built again' })]])(
            { step } as never,
            node,
          )
        : [text('x')],
    )
    node.journal.push(
      { type: 'turn_started', turn: 1, mail: [], content: [text('build it')] },
      { type: 'message', turn: 1, step: 1, role: 'assistant', content: [toolCall('s', 'spawn', { prompt: 'x' })] },
      { type: 'tool_started', turn: 1, step: 1, call_id: 's', name: 'spawn', input: { prompt: 'x' } },
      { type: 'tool_ended', turn: 1, step: 1, call_id: 's', name: 'spawn', status: 'completed', output: 'Started' },
      { type: 'turn_ended', turn: 1, status: 'completed' },
    )
    node.post('one has died: crash_loop', { kind: 'notice', tier: 'urgent' })
    stage.broker.serve(node, stage.routes.url)
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 2, status: 'completed' })
    expect(node.reports).toMatchObject([{ kind: 'final', body: 'built again' }])
  })

  it('rests, and neither ends nor is told anything, while something is on its way', async () => {
    const node = stage.routes.node({ cwd: stage.cwd }, say([[shell('true')], [text('The child is at it.')]]))
    node.waitsFor = [{ kind: 'child', id: 'node_x' }]
    work(stage, node)
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(node.calls).toHaveLength(2)
  })

  it('rests also when it owes a typed result', async () => {
    const node = stage.routes.node(
      { cwd: stage.cwd, result_schema: { type: 'number' } },
      say([[shell('true')], [text('The child counts.')]]),
    )
    node.waitsFor = [{ kind: 'child', id: 'node_x' }]
    work(stage, node)
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'completed' })
  })
})

describe('a node that may stop', () => {
  it.each([
    ['a resident', { lifecycle: 'resident' }, undefined],
    ['an orchestrator', { mode: 'orchestrator' }, 'Told them.'],
  ] as const)('is never told to go on: %s', async (_, given, final) => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd, ...given }, say([[shell('true')], [text('Told them.')]])),
    )
    const end = await ended(node)
    expect(end).toEqual({ type: 'turn_ended', turn: 1, status: 'completed', ...(final && { final }) })
    expect(node.calls).toHaveLength(2)
  })
})

describe('wait', () => {
  it('ends the turn, with the time and the reason', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, say([[toolCall('w', 'wait', { timeout: 60, reason: 'rain' })]])),
    )
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(node.waits).toMatchObject([{ timeout: 60, reason: 'rain' }])
    expect(asksOf(node.requests)).toBe(0)
  })

  it('is refused to a terminal node that nothing would wake', async () => {
    const node = work(
      stage,
      stage.routes.node(
        { cwd: stage.cwd },
        say([[toolCall('w', 'wait', {})], [toolCall('r', 'report', { kind: 'final', body: 'x' })]]),
      ),
    )
    await ended(node)
    expect(node.waits).toEqual([])
    expect(outputsOf(node)[0]).toMatch(/^Nothing is on its way.*`timeout`\.$/)
  })

  // It ran beside the others: the turn was over, and nobody saw that there was no child to wait for.
  it('comes after the calls made along with it, and not at all when one of these failed', async () => {
    const node = stage.routes.node(
      { cwd: stage.cwd },
      say([
        [toolCall('w', 'wait', { timeout: 60 }), toolCall('x', 'read', { path: 'missing' })],
        [toolCall('v', 'wait', { timeout: 60 }), shell('sleep 0.2; echo > slept', 'y')],
      ]),
    )
    work(stage, node)
    await ended(node)
    expect(node.waits).toHaveLength(1)
    expect(existsSync(join(stage.cwd, 'slept'))).toBe(true)
    expect(node.entries('tool_ended').map(({ name, status }) => `${name} ${status}`)).toEqual([
      'wait canceled',
      'read failed',
      'wait completed',
      'bash completed',
    ])
    expect(outputsOf(node)[0]).toContain('read, called along with it, failed')
  })
})

describe('yield', () => {
  it('ends the turn with a note', async () => {
    const node = work(stage, stage.routes.node({ cwd: stage.cwd }, say([[toolCall('y', 'yield', { note: 'half' })]])))
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(node.notes).toEqual(['half'])
  })
})

describe('tools', () => {
  it('run eight at a time', async () => {
    const command = 'echo >> begun; until [ -e go ]; do sleep 0.02; done'
    const calls = Array.from({ length: 10 }, (_, at) => shell(command, `c${at}`))
    const begun = (): number =>
      existsSync(join(stage.cwd, 'begun')) ? readFileSync(join(stage.cwd, 'begun')).length : 0
    const node = work(stage, stage.routes.node({ cwd: stage.cwd }, say([calls, [text('done')], [text('done')]])))
    await waitFor(() => begun() === 8)
    const seen = begun()
    writeFileSync(join(stage.cwd, 'go'), '')
    await ended(node)
    expect([seen, begun()]).toEqual([8, 10])
  })

  // Fault 32: a program that asks and a person who isn't there.
  it.each([
    ['its input', 'read -r answer; echo "ended with $?"', 'ended with 1'],
    ['a terminal', 'read -r answer < /dev/tty; echo "ended with $?"', 'ended with 1'],
  ])('give a program that asks on %s no answer, at once', async (_, command, said) => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd }, say([[shell(command)], [text('done')], [text('x')]])),
    )
    await ended(node)
    expect(outputsOf(node)[0]).toContain(said)
    expect(node.entries('tool_ended')[0]?.duration_ms).toBeLessThan(5000)
  })

  // Fault 49.
  it('that answer a GiB are shown by their ends, in little memory', async () => {
    const node = work(
      stage,
      stage.routes.node(
        { cwd: stage.cwd },
        say([[shell('echo first; head -c 1G /dev/zero | tr "\\0" x; echo; echo last')], [text('done')], [text('x')]]),
      ),
    )
    let peak = 0
    await waitFor(
      () => {
        peak = Math.max(peak, memoryOf(stage.broker.child.pid as number))
        return node.entries('tool_ended').length > 0
      },
      { timeout: 100_000, interval: 20 },
    )
    await ended(node)
    const [output] = outputsOf(node)
    expect(output).toMatch(/^first\n/)
    expect(output).toMatch(/\nlast$/)
    expect(output?.length).toBeLessThan(40_000)
    expect(peak).toBeLessThan(300)
    expect(JSON.stringify(node.deltas).length).toBeLessThan(200 * 1024 * 1024)
  })
})

/** MiB that the process has in memory. */
const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
