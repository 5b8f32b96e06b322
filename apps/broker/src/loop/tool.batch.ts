import type { JournalEntry } from '#sdk/generated/types.js'
import type { FinishedCall, ToolBox } from '../tools/tool.box.js'

export type Started = Extract<JournalEntry, { type: 'tool_started' }>
type ToolEnded = Extract<JournalEntry, { type: 'tool_ended' }>

/** Calls that run at the same time. */
const atOnce = 8

/**
 * Carries out the calls of one step, side by side; answers in their order. Those that may end the turn come after the
 * others, one by one, and are left out when one of these went wrong: the model would never see it.
 *
 * @throws Ended when the daemon ends this broker meanwhile
 */
export const runCalls = async (
  tools: ToolBox,
  calls: readonly Started[],
  run: (call: Started) => Promise<FinishedCall>,
): Promise<FinishedCall[]> => {
  const done = new Map<Started, FinishedCall>()
  const waiting = calls.filter((call) => !tools.isLast(call))
  const work = async (): Promise<void> => {
    for (let call = waiting.shift(); call; call = waiting.shift()) done.set(call, await run(call))
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, work))
  for (const call of calls.filter((one) => tools.isLast(one))) {
    const before = [...done.values()]
    const wrong = before.find(({ entry }) => entry.status !== 'completed')
    const over = before.some(({ ends }) => ends)
    done.set(call, wrong ? { entry: leftOut(call, wrong.entry) } : over ? { entry: tooLate(call) } : await run(call))
  }
  return calls.map((call) => done.get(call) as FinishedCall)
}

export const unknownEnd = (call: Started): ToolEnded =>
  endOf(
    call,
    'outcome_unknown',
    'The process that ran this call was lost while it ran. The call may have taken effect in full, in part, or not at all. Look at the present state before you repeat it.',
  )

/** The node ended while the model thought: what it wanted to do is not done. */
export const overtaken = (call: Started): ToolEnded =>
  endOf(call, 'canceled', 'The work had ended before this call began; it was not carried out.')

const leftOut = (call: Started, { name, status }: ToolEnded): ToolEnded =>
  endOf(
    call,
    'canceled',
    `This call was not carried out, since it ends the turn, and ${name}, called along with it, ${statusWords[status]}. Look at that first; then call this again.`,
  )

const statusWords: Readonly<Record<ToolEnded['status'], string>> = {
  completed: 'went well',
  failed: 'failed',
  canceled: 'was not finished',
  outcome_unknown: 'has an end that nobody knows',
}

const tooLate = (call: Started): ToolEnded =>
  endOf(call, 'canceled', 'This call was not carried out: another one had ended the turn before.')

const endOf = ({ turn, step, call_id, name }: Started, status: ToolEnded['status'], output: string): ToolEnded => ({
  type: 'tool_ended',
  turn,
  step,
  call_id,
  name,
  status,
  output,
})
