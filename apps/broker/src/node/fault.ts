import type { JournalEntry } from '#sdk/generated/types.js'

export type TurnFault = NonNullable<Extract<JournalEntry, { type: 'turn_ended' }>['fault']>

const longest = 4000

export const faultOf = (kind: TurnFault['kind'], message: string, retryAfterMs?: number): TurnFault => ({
  kind,
  message: message.length > longest ? `${message.slice(0, longest - 1)}…` : message,
  ...(retryAfterMs !== undefined && { retry_after_ms: Math.max(0, Math.round(retryAfterMs)) }),
})
