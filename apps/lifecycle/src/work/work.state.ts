import type { workStates } from '#common/contract/work.internal.js'
import type { Ending, FaultText, TurnMark, WorkInHand } from './work.repository.js'

export interface WorkState {
  readonly state: Exclude<(typeof workStates)[number], 'absent'>
  readonly endedAt: Date | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** What is known of a work whose mail was taken in. */
export interface Course {
  /** The piece of the node's work that the mail belongs to. */
  readonly engagement: number
  /** How a turn ended that settles it. */
  readonly conclusion: TurnMark['ended']
}

const still: WorkState = { state: 'running', endedAt: null, error: null }

const failed = (code: string, message: string, endedAt: Date | null): WorkState => ({
  state: 'failed',
  endedAt,
  error: { code, message },
})

const succeeded = (endedAt: Date): WorkState => ({ state: 'succeeded', endedAt, error: null })

const canceled = (endedAt: Date): WorkState => ({
  state: 'canceled',
  endedAt,
  error: { code: 'canceled', message: 'The work was canceled.' },
})

/** What of the marks settles the work of a resident; undefined while nothing of them does. */
export const conclusionOf = (marks: readonly TurnMark[], engagement: number): TurnMark['ended'] =>
  marks.find((mark) => mark.engagement === engagement && settles(mark))?.ended ?? null

/** One that failed is tried again, or has ended the node; one that asked for a fresh context goes on in it. */
const settles = ({ ended, refreshed }: TurnMark): boolean =>
  ended?.status === 'interrupted' || (ended?.status === 'completed' && !refreshed)

/** The state of a work that is told by its mail and node alone; undefined for one that was taken in. */
export const stateOfMail = ({ mail, node, accepted_at }: WorkInHand): WorkState | undefined => {
  if (!mail || !node) {
    return failed('not_found', 'The node was deleted before it was asked what came of its work.', null)
  }
  // it wakes nobody, and so nothing more is to come of it
  if (mail.tier === 'deferred') return succeeded(accepted_at)
  if (mail.turn !== null) return undefined
  if (node.status === 'canceled') return canceled(node.updated_at)
  if (node.status === 'dead') return ofFault(node.fault ?? undefined, node.updated_at)
  if (node.status !== 'active' && !hasPlace(node)) {
    return failed('illegal_transition', 'Its worktree was closed before it took the message in.', node.updated_at)
  }
  return heldState(node) ?? still
}

/** Whether the node may have ended in that piece of work. */
export const mayHaveEnded = ({ node }: WorkInHand, { engagement }: Course): boolean =>
  node !== null && (node.engagement > engagement || (node.status !== 'active' && node.status !== 'idle'))

/** The state of a work that was taken in. The fault is that of a node which ended as dead. */
export const stateOfCourse = (
  { node }: WorkInHand,
  { engagement, conclusion }: Course,
  ending: Ending | undefined,
  fault: FaultText | undefined,
): WorkState => {
  if (conclusion) return conclusion.status === 'interrupted' ? canceled(conclusion.at) : succeeded(conclusion.at)
  switch (ending?.status) {
    case 'done':
      return succeeded(ending.at)
    case 'canceled':
      return canceled(ending.at)
    case 'dead':
      return ofFault(fault, ending.at)
    case undefined:
      return (node && node.engagement === engagement && heldState(node)) || still
  }
}

/** A fault that only a person clears is no matter of time: whoever waits is told, whatever comes of it in the end. */
const heldState = ({ status, fault }: NonNullable<WorkInHand['node']>): WorkState | undefined => {
  if (status !== 'active' || !fault || (fault.held_for !== 'credential' && fault.held_for !== 'grant')) return undefined
  return ofFault(fault, new Date(fault.last_at ?? fault.since))
}

const ofFault = (fault: FaultText | undefined, at: Date): WorkState =>
  failed(fault?.kind ?? 'other', fault?.message ?? 'The node died.', at)

const hasPlace = ({ worktree }: NonNullable<WorkInHand['node']>): boolean =>
  worktree === null || worktree.state === 'creating' || worktree.state === 'open'
