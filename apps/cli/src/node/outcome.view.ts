import type { Client, Outcome } from '#sdk/index.js'
import { CommandError } from '../failure.js'
import type { Output } from '../output/output.js'

interface Asked {
  readonly id: string
  readonly json: boolean
  /** Whether the report was shown already, as by a watch. */
  readonly reportShown?: boolean
}

/** Waits for the outcome and prints it. @throws CommandError when the node ended without having done its work */
export const finishAndPrint = async (client: Client, out: Output, { id, json, reportShown }: Asked): Promise<void> => {
  const outcome = await client.nodes.waitForOutcome(id)
  if (!json) printOutcome(outcome, out, reportShown)
  else if (!reportShown) out.json(outcome)
  else out.record({ type: 'outcome', data: outcome })
  failUnlessDone(outcome)
}

export const printOutcome = (outcome: Outcome, out: Output, reportShown = false): void => {
  if (outcome.final_report && !reportShown) out.line(outcome.final_report.body)
  if (outcome.result !== undefined && outcome.result !== null) out.line(JSON.stringify(outcome.result, null, 2))
  const { status, settled, usage } = outcome
  const spent = usage.input_tokens ? `, ${usage.input_tokens} tokens in, ${usage.output_tokens} out` : ''
  const price = usage.cost_usd ? `, $${usage.cost_usd.toFixed(4)}` : ''
  out.note(
    out.paintNote(
      'dim',
      `${outcome.node_id} ${settled ? `is ${status}` : `is ${status}, still at work`}${spent}${price}`,
    ),
  )
}

/** A node that died or was canceled makes the command fail, so that a script notices. */
export const failUnlessDone = ({ node_id, status, error }: Outcome): void => {
  if (status !== 'dead' && status !== 'canceled') return
  throw new CommandError(
    `node ${node_id} is ${status}${error ? `: ${error.message}` : ''}`,
    `svc node events ${node_id} shows how it came to this; svc node revive ${node_id} brings it back`,
  )
}
