import type { NodeSession } from '../node/node.session.js'
import { settlementOf } from '../node/settlement.js'
import { optionalTextOf, textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

/** Seconds: a week. */
const longestWait = 7 * 24 * 3600
const longestReason = 500
const longestNote = 32 * 1024

/** Neither carries a key: asked again by a process that was started anew, it has to take effect again. */
export const waitTool = (session: NodeSession): Tool => ({
  name: 'wait',
  description:
    'Ends this turn and rests, at no cost, until something comes: a report of a child or its end, a message, the end of a background job, the answer to a question of yours, or the end of `timeout`. Call it alone or last, when nothing is left that you can do before that.',
  inputSchema: schemaOf(
    {
      timeout: {
        type: 'integer',
        minimum: 1,
        maximum: longestWait,
        description: 'Seconds after which you are woken in any case; no limit unless given',
      },
      reason: { type: 'string', description: 'What for, for whoever looks' },
    },
    [],
  ),
  acts: false,
  repeatable: true,
  last: true,
  async run(input, call) {
    const reason = optionalTextOf(input, 'reason')?.trim().slice(0, longestReason)
    const timed = input.timeout !== undefined && input.timeout !== null
    const timeout = wholeOf(input, 'timeout', { min: 1, max: longestWait, whenAbsent: 1 })
    if (!timed && session.assignment.lifecycle === 'terminal') await requireWaker(session, call.turn)
    await session.daemon.post('wait', { ...(timed && { timeout }), ...(reason && { reason }) })
    return { output: 'Waiting: the turn ends here, and what comes begins the next one.', ends: true }
  },
})

/** Nobody would find a node that waits for nothing. @throws ToolError */
const requireWaker = async (session: NodeSession, turn: number): Promise<void> => {
  const { directive, waits_for } = await settlementOf(session, turn)
  if (directive !== 'finish' || waits_for.length) return
  throw new ToolError(
    'Nothing is on its way that would wake you: no child of yours is at work, no job runs, no question is open. Finish with your final report; or, if you expect a message from somebody, wait with a `timeout`.',
  )
}

export const yieldTool = ({ daemon }: NodeSession): Tool => ({
  name: 'yield',
  description:
    'Ends this turn and begins anew with an empty context, when this one grows long. You stay who you are, with your children, jobs, questions and messages; of this conversation you keep `note` alone. Call it alone or last.',
  inputSchema: schemaOf(
    {
      note: {
        type: 'string',
        description:
          'To yourself, who knows nothing else of this conversation: what is done, what is found, what is open, what to do next, and where it all stands',
      },
    },
    ['note'],
  ),
  acts: false,
  repeatable: true,
  last: true,
  async run(input) {
    const note = textOf(input, 'note')
    if (!note.trim()) throw new ToolError('"note" is empty: it is all that you will know of this conversation.')
    const bytes = Buffer.byteLength(note)
    if (bytes > longestNote)
      throw new ToolError(`The note has ${bytes} bytes, more than ${longestNote}: put details into a file and name it.`)
    await daemon.post('yield', { note })
    return { output: 'The turn ends here; you begin anew with this note.', ends: true }
  },
})
