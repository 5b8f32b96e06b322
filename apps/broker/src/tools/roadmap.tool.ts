import { SvcError } from '#sdk/errors.js'
import type { Node } from '#sdk/generated/types.js'
import { hasCode } from '../daemon/endings.js'
import type { NodeSession } from '../node/node.session.js'
import { keyOf } from './call.key.js'
import { advised } from './refusal.text.js'
import { flagOf, optionalChoiceOf, optionalTextOf, textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError, type ToolResult } from './tool.js'

const actions = ['read', 'write'] as const
const strengths = ['light', 'medium', 'strong', 'ultra'] as const

interface Roadmap {
  readonly text: string
  readonly version: number
}

/** For orchestrators: what outlives every context of theirs. */
export const roadmapTool = (session: NodeSession): Tool => ({
  name: 'roadmap',
  description:
    'Your roadmap: a Markdown document with the goal, the plan, who works on what, what is decided and what is done. It outlives this context, and you begin each new one with it, so write it whenever something of this changes. `read` shows it with its version; `write` replaces it as a whole.',
  inputSchema: schemaOf(
    {
      action: { type: 'string', enum: [...actions] },
      text: { type: 'string', description: 'The whole document, for write' },
      if_match: {
        type: 'integer',
        minimum: 1,
        description: 'The version that you read, for write: others may write it too',
      },
    },
    ['action'],
  ),
  acts: false,
  repeatable: true,
  offered: () => session.assignment.mode === 'orchestrator',
  async run(input, { signal }): Promise<ToolResult> {
    const { daemon, serve } = session
    const path = `/v1/nodes/${serve.node_id}/roadmap`
    switch (actions.find((one) => one === input.action)) {
      case 'read': {
        const { text, version } = await advised(
          ({ code }) => (code === 'not_found' ? 'There is none yet: write one.' : undefined),
          () => daemon.ask<Roadmap>('GET', path, undefined, { signal }),
        )
        return { output: `[version ${version}]\n${text}` }
      }
      case 'write': {
        const text = textOf(input, 'text')
        if (!text.trim()) throw new ToolError('"text" is empty: give the whole document.')
        const matched = input.if_match !== undefined && input.if_match !== null
        const if_match = wholeOf(input, 'if_match', { min: 1, max: 2 ** 31 - 1, whenAbsent: 1 })
        const { version } = await advised(
          ({ code }) =>
            code === 'precondition_failed'
              ? 'Somebody else wrote it meanwhile: read it, and bring your change into what it says now.'
              : undefined,
          () => daemon.ask<Roadmap>('PUT', path, { text, ...(matched && { if_match }) }),
        )
        return { output: `Written: version ${version}.` }
      }
      case undefined:
        throw new ToolError(`"action" must be one of: ${actions.join(', ')}.`)
    }
  },
})

export const promoteTool = (session: NodeSession): Tool => ({
  name: 'promote',
  description:
    'Makes you an orchestrator, for good: one that hands most of its work to children, keeps a roadmap and outlives its context. For work that turns out far larger than one context. It can not be taken back.',
  inputSchema: schemaOf(
    {
      roadmap: { type: 'string', description: 'The first roadmap, in Markdown; your goal alone unless given' },
      strength: { type: 'string', enum: [...strengths], description: 'Of your model from now on' },
      resident: {
        type: 'boolean',
        description: 'Whether you stay between messages, instead of ending with a final report',
      },
    },
    [],
  ),
  acts: true,
  repeatable: true,
  offered: () => session.assignment.mode === 'base',
  async run(input, call) {
    const roadmap = optionalTextOf(input, 'roadmap')?.trim()
    const strength = optionalChoiceOf(input, 'strength', strengths)
    const resident = flagOf(input, 'resident')
    const body = { ...(roadmap && { roadmap }), ...(strength && { strength }), ...(resident && { resident }) }
    const options = { idempotencyKey: keyOf(session, call) }
    try {
      const path = `/v1/nodes/${session.serve.node_id}/promote`
      // Known before the next step, which is offered the tools of an orchestrator.
      const { mode, lifecycle, model } = await session.daemon.ask<Node>('POST', path, body, options)
      session.change({ mode, lifecycle, model })
    } catch (error) {
      if (!isOrchestrator(error)) throw error
    }
    return { output: 'You are an orchestrator now, with a roadmap: keep it with the tool `roadmap`.' }
  },
})

const isOrchestrator = (error: unknown): boolean =>
  error instanceof SvcError && hasCode(error, 'illegal_transition') && error.fields.state === 'orchestrator'
