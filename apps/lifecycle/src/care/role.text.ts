import type { NodeRecord } from '../node/node.record.js'

type Role = Pick<NodeRecord, 'id' | 'kind' | 'lifecycle'>

const lifecycleText = {
  resident: 'You are resident: you stay between messages, and your work does not end with a report.',
  terminal:
    'You are terminal: you owe a final report, and your work ends with it. Finish what is open, then report; if nothing is open, report what came of your work.',
} as const

/** What a node is told that has become an orchestrator. */
export const promotedText = ({ id, kind, lifecycle }: Role, roadmapVersion: number): string =>
  `You are an orchestrator from now on, of the kind ${kind}: you plan, hand parts of the work to nodes of your own, and put together what they report, instead of doing all of it yourself.
${lifecycleText[lifecycle]}
You have a roadmap (version ${roadmapVersion}) which you find again in every fresh context: \`svc node roadmap ${id}\` reads it, and with --write it is written. Keep it true to what is decided, done and open.`

/** What a node is told whose lifecycle was changed. */
export const lifecycleChangedText = (lifecycle: NodeRecord['lifecycle']): string =>
  `Your lifecycle was changed. ${lifecycleText[lifecycle]}`
