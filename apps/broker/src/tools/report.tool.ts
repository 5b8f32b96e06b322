import type { Outcome, Report } from '#sdk/generated/types.js'
import { hasCode } from '../daemon/endings.js'
import type { NodeSession } from '../node/node.session.js'
import { textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const kinds = ['update', 'urgent', 'final'] as const
const reportBytes = 256 * 1024

const kindOf = (input: Record<string, unknown>): (typeof kinds)[number] => {
  const kind = kinds.find((one) => one === input.kind)
  if (!kind) throw new ToolError('"kind" must be update, urgent or final.')
  return kind
}

/** Repeated calls carry the same key, so that a report is published once. */
const keyOf = ({ serve, assignment }: NodeSession, callId: string): string =>
  `${serve.node_id}.${assignment.engagement}.${callId}`

export const reportTool = (session: NodeSession): Tool => ({
  name: 'report',
  description:
    'Reports to whoever waits for this work. `update`: how it goes. `urgent`: something they must know now. `final`: the outcome; it ends your work.',
  inputSchema: schemaOf(
    { kind: { type: 'string', enum: [...kinds] }, body: { type: 'string', description: 'The report, in Markdown' } },
    ['kind', 'body'],
  ),
  acts: false,
  repeatable: true,
  async run(input, { callId }) {
    const kind = kindOf(input)
    const body = textOf(input, 'body')
    if (!body.trim()) throw new ToolError('"body" is empty.')
    if (Buffer.byteLength(body) > reportBytes)
      throw new ToolError(
        `The report has ${Buffer.byteLength(body)} bytes, more than ${reportBytes}: shorten it, and name a file for the details.`,
      )
    const { lifecycle, result_schema } = session.assignment
    if (kind === 'final' && result_schema)
      throw new ToolError('This work ends with a typed result: hand it in with submit_result instead.')
    // The report of a terminal node travels with the end of its turn, so that neither can be had without the other.
    if (kind === 'final' && lifecycle === 'terminal')
      return { output: 'Reported. Your work is done.', ends: true, final: body }
    await session.daemon.post<Report>('reports', { kind, body }, { idempotencyKey: keyOf(session, callId) })
    return kind === 'final' ? { output: 'Reported. Your work is done.', ends: true } : { output: 'Reported.' }
  },
})

export const submitResultTool = (session: NodeSession, schema: Record<string, unknown>): Tool => ({
  name: 'submit_result',
  description:
    "Hands in the typed result that this work owes. It is checked against its schema; accepted, it ends your work and can't be changed.",
  inputSchema: schemaOf({ value: schema }, ['value']),
  acts: false,
  repeatable: true,
  async run(input, { callId }) {
    if (!('value' in input)) throw new ToolError('"value" is missing: put the whole result into it.')
    try {
      await session.daemon.post<Outcome>('result', { value: input.value }, { idempotencyKey: keyOf(session, callId) })
    } catch (error) {
      if (hasCode(error, 'result_schema_mismatch')) {
        const faults = error.errors.map(({ pointer, message }) => `${pointer || '/'}: ${message}`).join('\n')
        throw new ToolError(
          `The result does not fit its schema:\n${faults || error.message}\nCorrect it and submit it again.`,
        )
      }
      if (!hasCode(error, 'result_already_submitted')) throw error
    }
    return { output: 'Accepted. Your work is done.', ends: true }
  },
})
