import type { MailEntry } from '#sdk/generated/types.js'
import type { Next } from '../daemon/journal.client.js'
import type { OpenTurn } from './turn.state.js'

/** What works on a node's turns. Both answer what the daemon said after the turn's end was recorded. */
export interface NodeEngine {
  /** A turn that begins with this mail. */
  run(turn: number, mail: readonly MailEntry[]): Promise<Next>
  /** A turn that an earlier process left open. */
  resume(open: OpenTurn): Promise<Next>
  /** A turn without mail, since the one before it failed and the daemon wants it tried again; absent where it never does. */
  retry?(turn: number): Promise<Next>
}
