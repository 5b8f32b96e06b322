import type { Outcome, Report } from '#sdk/generated/types.js'
import { hasCode } from '../daemon/endings.js'
import type { NodeSession } from '../node/node.session.js'
import { hasReport } from '../node/own.reports.js'
import { keyOf } from './call.key.js'
import { textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError, type ToolRun } from './tool.js'

const kinds = ['update', 'urgent', 'final'] as const
const reportBytes = 256 * 1024

const kindOf = (input: Record<string, unknown>): (typeof kinds)[number] => {
  const kind = kinds.find((one) => one === input.kind)
  if (!kind) throw new ToolError('"kind" must be update, urgent or final.')
  return kind
}

/** @throws what the daemon answers, but for a final report that stands already */
const publish = async (session: NodeSession, report: Pick<Report, 'kind' | 'body'>, call: ToolRun): Promise<void> => {
  try {
    await session.daemon.post<Report>('reports', report, { idempotencyKey: keyOf(session, call) })
  } catch (error) {
    if (!hasCode(error, 'already_finalized')) throw error
  }
}

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
  last: ({ kind }) => kind === 'final',
  async run(input, call) {
    const kind = kindOf(input)
    const body = textOf(input, 'body')
    if (!body.trim()) throw new ToolError('"body" is empty.')
    const bytes = Buffer.byteLength(body)
    if (bytes > reportBytes) {
      throw new ToolError(
        `The report has ${bytes} bytes, more than ${reportBytes}: shorten it, and name a file for the details.`,
      )
    }
    if (kind === 'final' && session.assignment.result_schema) {
      throw new ToolError('This work ends with a typed result: hand it in with submit_result instead.')
    }
    // Work that was given since then must not be ended by the report of the work before.
    const stands =
      call.repeated && (await hasReport(session.daemon, (other) => other.kind === kind && other.body === body))
    if (!stands) await publish(session, { kind, body }, call)
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
  last: true,
  async run(input, call) {
    if (!('value' in input)) throw new ToolError('"value" is missing: put the whole result into it.')
    try {
      await session.daemon.post<Outcome>('result', { value: input.value }, { idempotencyKey: keyOf(session, call) })
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
