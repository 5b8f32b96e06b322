import type { MessageReceipt } from '#sdk/generated/types.js'
import type { NodeSession } from '../node/node.session.js'
import { keyOf } from './call.key.js'
import { nodeIdOf } from './node.reference.js'
import { advised } from './refusal.text.js'
import { choiceOf, textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const tiers = ['critical', 'urgent', 'normal', 'deferred'] as const

const delivered: Readonly<Record<MessageReceipt['delivered'], string>> = {
  live: 'It is at work, and told.',
  queued: 'It reads it when its present turn has ended.',
  revived: 'It was at rest or had ended, and is woken by it.',
}

export const messageTool = (session: NodeSession): Tool => ({
  name: 'message',
  description:
    'Writes to another node of your tree: a child, your parent, a sibling. A child that rests or is done is woken and goes on with what it knows, so give it follow-up work this way rather than to a new one. `tier`: `normal` is read after its present turn, `urgent` at its next step, `critical` aborts what it does, `deferred` waits until it wakes for something else. It is not answered here: an answer comes as a message.',
  inputSchema: schemaOf(
    {
      node_id: { type: 'string', description: 'To whom' },
      body: { type: 'string' },
      tier: { type: 'string', enum: [...tiers], description: 'normal unless given' },
    },
    ['node_id', 'body'],
  ),
  acts: true,
  repeatable: true,
  async run(input, call) {
    const id = nodeIdOf(input, session)
    const tier = choiceOf(input, 'tier', tiers, 'normal')
    const body = textOf(input, 'body')
    if (!body.trim()) throw new ToolError('"body" is empty.')
    const receipt = await advised(
      ({ code, fields }) =>
        code === 'illegal_transition' && fields.state === 'canceled'
          ? 'Its work was called off for good: start another one with `spawn`.'
          : undefined,
      () =>
        session.daemon.ask<MessageReceipt>(
          'POST',
          `/v1/nodes/${id}/message`,
          { body, tier },
          { idempotencyKey: keyOf(session, call) },
        ),
    )
    return { output: `Sent. ${delivered[receipt.delivered]}` }
  },
})
