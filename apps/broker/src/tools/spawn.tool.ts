import { isAbsolute, resolve } from 'node:path'
import type { SvcError } from '#sdk/errors.js'
import type { Node } from '#sdk/generated/types.js'
import type { NodeSession } from '../node/node.session.js'
import { keyOf } from './call.key.js'
import { advised } from './refusal.text.js'
import { objectOf, optionalChoiceOf, optionalTextOf, refuseUnknown, textOf, wordsOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const modes = ['base', 'orchestrator'] as const
const lifecycles = ['terminal', 'resident'] as const
const strengths = ['light', 'medium', 'strong', 'ultra'] as const
const scopesAtMost = 200

const worktreeFields = {
  branch: { type: 'string', description: 'Name of the new branch; made up unless given' },
  base: { type: 'string', description: 'Commit or branch to begin at; HEAD unless given' },
}

const properties = {
  prompt: {
    type: 'string',
    description:
      'All of the work: what to do, what is known, where, and what to report. It sees nothing else of yours.',
  },
  name: { type: 'string', description: 'A short name to know it by' },
  kind: { type: 'string', description: 'Its role: general, explore, plan, develop, review, or one of the owner’s' },
  mode: { type: 'string', enum: [...modes], description: 'orchestrator: one that mostly hands work on' },
  lifecycle: {
    type: 'string',
    enum: [...lifecycles],
    description: 'terminal (unless given): ends with its final report. resident: stays for further messages',
  },
  strength: { type: 'string', enum: [...strengths], description: 'Of its model; what suits its kind unless given' },
  cwd: { type: 'string', description: 'Its working directory; yours unless given' },
  worktree: {
    ...schemaOf(worktreeFields, []),
    description: 'Give it a git worktree of its own on a new branch, so that changes made side by side do not mix',
  },
  scopes: {
    type: 'array',
    items: { type: 'string' },
    description: 'Narrows what it may do; all that you may unless given',
  },
  result_schema: { type: 'object', description: 'JSON Schema: it must hand in a result that fits' },
}

const adviceOf = ({ code, fields }: SvcError, { assignment }: NodeSession): string | undefined => {
  switch (code) {
    case 'quota_exceeded':
      if (fields.limit === 'depth') return 'You are as deep in the tree as nodes go: do this piece of work yourself.'
      if (fields.limit === 'children')
        return 'Give further work to the children you have, with `message`, or do it yourself.'
      return undefined
    case 'scope_exceeds_ceiling':
      return 'A child never has more than you: leave these out, or leave `scopes` out and it has what you have.'
    case 'path_outside_scope':
      return `Choose a directory in yours, ${assignment.cwd}, or leave \`cwd\` out.`
    case 'model_not_configured':
      return 'Leave `strength` out and take the kind general: its model is then like yours.'
    default:
      return undefined
  }
}

/** The body of the request that makes the child. @throws ToolError */
const bodyOf = (input: Record<string, unknown>, { assignment }: NodeSession): Record<string, unknown> => {
  const prompt = textOf(input, 'prompt')
  if (!prompt.trim()) throw new ToolError('"prompt" is empty: say what the child is to do.')
  const cwd = optionalTextOf(input, 'cwd')
  const worktree = objectOf(input, 'worktree')
  if (worktree) refuseUnknown(worktree, Object.keys(worktreeFields), '"worktree"')
  const strength = optionalChoiceOf(input, 'strength', strengths)
  const body = {
    prompt,
    name: optionalTextOf(input, 'name') || undefined,
    kind: optionalTextOf(input, 'kind') || undefined,
    mode: optionalChoiceOf(input, 'mode', modes),
    lifecycle: optionalChoiceOf(input, 'lifecycle', lifecycles),
    model: strength && { strength },
    cwd: cwd && (isAbsolute(cwd) ? cwd : resolve(assignment.cwd, cwd)),
    worktree,
    scopes: wordsOf(input, 'scopes', scopesAtMost),
    result_schema: objectOf(input, 'result_schema'),
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && value !== ''))
}

export const spawnTool = (session: NodeSession): Tool => ({
  name: 'spawn',
  description:
    'Hands a piece of work to a child: another agent with a fresh context, that works beside you. Several calls at once start several children. For what can be done apart, or would fill your context; each costs a model of its own, so small things are done yourself. Its reports come to you as messages; `wait` for them when you have nothing else to do.',
  inputSchema: schemaOf(properties, ['prompt']),
  acts: true,
  repeatable: true,
  async run(input, call) {
    const body = bodyOf(input, session)
    // Not given up with the turn: nobody would know then whether there is a child.
    const node = await advised(
      (error) => adviceOf(error, session),
      () => session.daemon.ask<Node>('POST', '/v1/nodes', body, { idempotencyKey: keyOf(session, call) }),
    )
    return { output: startedText(node) }
  },
})

const startedText = ({ id, name, kind, lifecycle, cwd, worktree }: Node): string => {
  const where = worktree ? `${cwd}, on the branch ${worktree.branch}` : cwd
  const later =
    lifecycle === 'resident'
      ? 'It reports to you as it goes and stays for further messages until you cancel it.'
      : 'What it reports comes to you by itself, as a message, and so does how it ends.'
  return `Started ${name} (${id}, kind ${kind}) in ${where}. ${later} Go on with other work, or call \`wait\`; never ask for it in a loop.`
}
