import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { TurnCall } from '#sdk/generated/types.js'
import { type PlayedNode, type Scripted, text, toolCall } from '../../../../test/support/broker-routes.js'
import { ended, outputsOf, setStage, succeed, work } from '../../../../test/support/running-broker.js'

const stage = setStage()

const told = ({ messages }: TurnCall): string[] =>
  messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'text' ? [part.text] : [])))

const isSummary = ({ step }: TurnCall): boolean => step > 1_000_000
const tooLong: Scripted = { status: 502, code: 'model_error', reason: 'context_length', detail: 'prompt is too long' }

/** A node whose model counts as many tokens at each step, and takes 10,000. */
const measuredNode = (
  counts: readonly number[],
  model: (call: TurnCall) => Scripted | Promise<Scripted>,
): PlayedNode => {
  const node = stage.routes.node({ cwd: stage.cwd, mode: 'base' }, model)
  node.contextWindow = 10_000
  node.countTokens = ({ step }) => counts[step - 1] ?? 10
  return node
}

/** A step of about 1,000 tokens. */
const look = (step: number): Scripted => [
  toolCall(`${step}`, 'bash', { command: `: ${'x'.repeat(4000)}; echo seen ${step}` }),
]

describe('what a context begins with', () => {
  it('is where the agent is, what its project says, and the mandate; once, and nothing of it in the instructions', async () => {
    mkdirSync(join(stage.cwd, '.git'))
    writeFileSync(join(stage.cwd, '.git', 'HEAD'), 'ref: refs/heads/side/track\n')
    writeFileSync(join(stage.cwd, 'AGENTS.md'), 'Indent by three.')
    const node = stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, () => [text('yes')])
    work(stage, node, 'go on')
    await waitFor(() => node.entries('turn_ended').length === 1)
    const [system, where, project, prompt] = told(node.calls[0] as TurnCall)
    expect(where).toContain(`${stage.cwd}, on branch side/track; linux`)
    expect(where).toContain('1970-01-01 (UTC)')
    expect(project).toContain(`--- ${join(stage.cwd, 'AGENTS.md')}\nIndent by three.`)
    expect(prompt).toBe('go on')
    expect(system).not.toMatch(/1970|side\/track|three/)
    node.post('and now', { created_at: '1970-01-03T00:00:00.000Z', tier: 'normal' })
    stage.broker.serve(node, stage.routes.url, join(stage.cwd, '.scratch'))
    await waitFor(() => node.entries('turn_ended').length === 2)
    const again = told(node.calls.at(-1) as TurnCall)
    expect(again.filter((one) => one.includes('Indent by three.'))).toHaveLength(1)
    expect(again.slice(-2)).toEqual(['[It is 1970-01-03 now.]', expect.stringContaining('and now')])
    expect(again[0]).toBe(system)
  })

  it('holds the files of all directories up to the root of the repository, CLAUDE.md where there is no AGENTS.md, cut in sight', async () => {
    const deep = join(stage.cwd, 'a', 'b')
    mkdirSync(join(stage.cwd, '.git'))
    mkdirSync(deep, { recursive: true })
    writeFileSync(join(stage.cwd, 'AGENTS.md'), 'x'.repeat(40_000))
    writeFileSync(join(stage.cwd, 'CLAUDE.md'), 'not this')
    writeFileSync(join(stage.cwd, 'a', 'CLAUDE.md'), 'in the middle')
    writeFileSync(join(deep, 'AGENTS.md'), 'the nearest')
    const node = stage.routes.node({ cwd: deep }, () => [toolCall('1', 'report', { kind: 'final', body: 'ok' })])
    await ended(work(stage, node))
    const project = told(node.calls[0] as TurnCall)[2] as string
    // only what the node may see: its working directory, unless more is mounted for it
    expect(project).toContain('the nearest')
    expect(project).not.toContain('not this')
  })

  it('leaves out what lies elsewhere, and gives nothing of files to a node that may not act', async () => {
    const done = () => [toolCall('1', 'report', { kind: 'final', body: 'ok' })]
    symlinkSync('/etc/hostname', join(stage.cwd, 'AGENTS.md'))
    const lured = stage.routes.node({ cwd: stage.cwd }, done)
    await ended(work(stage, lured))
    expect(told(lured.calls[0] as TurnCall)).toHaveLength(3)
    const blind = join(stage.cwd, 'blind')
    mkdirSync(blind)
    writeFileSync(join(blind, 'AGENTS.md'), 'Not for you.')
    const node = stage.routes.node({ cwd: blind, scopes: ['svc:llm'] }, done)
    await ended(work(stage, node))
    expect(told(node.calls[0] as TurnCall)).toHaveLength(3)
  })
})

describe('a context that fills', () => {
  it('is told of, once a band, with the next step', async () => {
    const node = work(
      stage,
      measuredNode([5000, 6100, 6500, 7600, 7700, 7800], ({ step }) =>
        step < 6 ? look(step) : [toolCall('6', 'report', { kind: 'final', body: 'ok' })],
      ),
    )
    await ended(node)
    const notes = (at: number): string[] => told(node.calls[at] as TurnCall).filter((one) => /% full/.test(one))
    expect(notes(1)).toEqual([])
    expect(notes(2)).toEqual([expect.stringMatching(/^\[Your context is 61 % full.*call yield/)])
    expect(notes(3)).toHaveLength(1)
    expect(notes(4)).toEqual([expect.anything(), expect.stringMatching(/^\[Your context is 76 % full. Call yield now/)])
    expect(notes(5)).toHaveLength(2)
  })

  it('is condensed when it goes on: the task and the newest steps stay, a summary stands for the rest', async () => {
    const node = work(
      stage,
      measuredNode([5000, 5100, 5200, 9100], (call) => {
        if (isSummary(call)) return [text('Seen 1 and 2.')]
        return call.step < 5 ? look(call.step) : [toolCall('5', 'report', { kind: 'final', body: 'ok' })]
      }),
      'count what is seen',
    )
    await ended(node)
    expect(node.calls.map(({ step }) => step)).toEqual([1, 2, 3, 4, 1_000_001, 5])
    const [asked, after] = node.calls.slice(-2) as [TurnCall, TurnCall]
    expect(asked.tools).toEqual([])
    expect(told(asked).at(-1)).toContain('count what is seen')
    expect(node.entries('compacted')).toEqual([
      expect.objectContaining({ turn: 1, step: 5, summary: 'Seen 1 and 2.', model: 'mock/one' }),
    ])
    const texts = told(after)
    expect(texts).toContain('count what is seen')
    expect(texts.join('\n')).toContain('You wrote this for yourself:]\nSeen 1 and 2.')
  })

  it('first leaves out what tools answered long ago', async () => {
    const node = work(
      stage,
      measuredNode([100, 6000, 8000, 9100], ({ step }) => {
        if (step === 1) return [toolCall('1', 'bash', { command: 'seq 5000' })]
        return step < 5 ? look(step) : [toolCall('5', 'report', { kind: 'final', body: 'ok' })]
      }),
    )
    await ended(node)
    expect(node.calls.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5])
    expect(node.entries('compacted')).toMatchObject([{ step: 5, summary: null }])
    const results = node.calls
      .at(-1)!
      .messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_result' ? [part.output] : [])))
    expect(results[0]).toContain('more characters stood here. They were left out')
    expect(results.slice(1).join()).toContain('seen 4')
    expect(outputsOf(node)[0]!.length).toBeGreaterThan(10_000)
  })

  it('is condensed when the provider finds it too long, whatever was counted', async () => {
    let refusals = 0
    const node = work(
      stage,
      measuredNode([10, 10, 10], (call) => {
        if (isSummary(call)) return [text('All of it.')]
        if (call.step === 3 && refusals++ === 0) return tooLong
        return call.step < 3 ? look(call.step) : [toolCall('3', 'report', { kind: 'final', body: 'ok' })]
      }),
    )
    expect(await ended(node)).toMatchObject({ status: 'completed' })
    expect(node.calls.map(({ step }) => step)).toEqual([1, 2, 3, 1_000_001, 3])
  })

  it('ends the turn with a fault that says so when nothing makes it small enough', async () => {
    const node = work(
      stage,
      measuredNode([10, 10], (call) => {
        if (isSummary(call)) return [text('All of it.')]
        return call.step === 1 ? look(1) : tooLong
      }),
    )
    const end = await ended(node)
    expect(end).toMatchObject({ status: 'failed', fault: { kind: 'other' } })
    expect(end?.fault?.message).toMatch(/no longer fits into the model's context.*can't be made smaller.*too long/)
    expect(node.entries('compacted')).toHaveLength(2)
  })

  it('says so at once of a mandate that does not fit', async () => {
    const node = work(
      stage,
      measuredNode([], () => tooLong),
    )
    expect(await ended(node)).toMatchObject({ status: 'failed' })
    expect(node.calls).toHaveLength(1)
  })

  it('is condensed once, though the process died when the summary was bought and not recorded', async () => {
    let bought = 0
    const node = work(
      stage,
      measuredNode([5000, 5100, 9100], async (call) => {
        if (isSummary(call)) {
          bought += 1
          if (bought === 1) await stage.broker.kill()
          return [text(`Summary ${bought}.`)]
        }
        return call.step < 4 ? look(call.step) : [toolCall('4', 'report', { kind: 'final', body: 'ok' })]
      }),
    )
    await waitFor(() => bought === 1 && stage.broker.gone)
    expect(node.entries('compacted')).toEqual([])
    await succeed(stage, node)
    await ended(node)
    expect(bought).toBe(1)
    expect(node.entries('compacted')).toMatchObject([{ summary: 'Summary 1.' }])
    expect(told(node.calls.at(-1) as TurnCall).join('\n')).toContain('Summary 1.')
  })
})
