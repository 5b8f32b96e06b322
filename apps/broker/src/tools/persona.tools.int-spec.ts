import { describe, expect, it } from '@jest/globals'
import { choosableTools, fixedTools } from '#common/contract/index.js'
import { waitFor } from '#common/testing/wait-for.js'
import { text, toolCall } from '../../../../test/support/broker-routes.js'
import { ended, outputsOf, setStage, work } from '../../../../test/support/running-broker.js'

const stage = setStage()

describe('the tools of a node', () => {
  it('are those that its persona names, and those by which its work ends and rests', async () => {
    const persona = { role: 'You look.', tools: ['read', 'list'] }
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd, persona }, ({ step }) =>
        step === 1
          ? [toolCall('1', 'bash', { command: 'true' })]
          : [toolCall('2', 'report', { kind: 'final', body: '.' })],
      ),
    )
    await ended(node)
    const names = node.calls[0]!.tools.map(({ name }) => name).sort()
    expect(names).toEqual(['list', 'read', 'report', 'wait', 'yield'])
    expect(outputsOf(node)[0]).toMatch(/^There is no tool "bash"/)
    expect(JSON.stringify(node.calls[0]!.messages[0])).toContain('You look.')
  })

  it('have names that a persona may give', async () => {
    const modes = ['base', 'orchestrator'] as const
    const names = new Set<string>()
    for (const mode of modes) {
      const node = stage.routes.node({ cwd: stage.cwd, mode, lifecycle: 'resident', result_schema: {} }, () => [
        text('.'),
      ])
      node.post('go')
      stage.broker.serve(node, stage.routes.url)
      await waitFor(() => node.calls.length > 0)
      for (const { name } of node.calls[0]!.tools) names.add(name)
    }
    expect([...names].sort()).toEqual([...choosableTools, ...fixedTools].sort())
  })
})
