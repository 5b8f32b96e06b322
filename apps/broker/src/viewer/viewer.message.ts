import type { Delta, JournalEntryInput } from '#sdk/generated/types.js'

const tiers = ['critical', 'urgent', 'normal', 'deferred'] as const
type MessageTier = (typeof tiers)[number]

/** What a viewer may say, a JSON object a line. `ref` comes back with what answers it. */
export type ViewerLine = { readonly ref?: string | number | undefined } & (
  | { readonly type: 'control'; readonly ticket: string }
  | { readonly type: 'release' | 'beat' | 'interrupt' }
  | { readonly type: 'message'; readonly body: string; readonly tier: MessageTier }
)

/** Why a line was not taken; the connection stays. */
export class LineFault extends Error {
  constructor(
    readonly code: 'malformed_line' | 'line_too_long' | 'unknown_type' | 'control_held' | 'not_controller' | 'too_many',
    message: string,
  ) {
    super(message)
  }
}

const malformed = (message: string): never => {
  throw new LineFault('malformed_line', message)
}

const refOf = (value: unknown): string | number | undefined =>
  (typeof value === 'string' && value.length <= 64) || typeof value === 'number' ? value : undefined

/** @throws LineFault */
export const lineOf = (text: string): ViewerLine => {
  let line: Record<string, unknown> | null = null
  try {
    line = JSON.parse(text) as Record<string, unknown> | null
  } catch {
    malformed('A line must be one JSON object.')
  }
  if (typeof line !== 'object' || line === null || Array.isArray(line))
    return malformed('A line must be one JSON object.')
  const ref = refOf(line.ref)
  switch (line.type) {
    case 'release':
    case 'beat':
    case 'interrupt':
      return { type: line.type, ref }
    case 'control':
      if (typeof line.ticket !== 'string' || line.ticket.length > 256)
        return malformed('`ticket` must be the one of the attach answer.')
      return { type: 'control', ticket: line.ticket, ref }
    case 'message': {
      const { body, tier = 'normal' } = line
      if (typeof body !== 'string' || body === '') return malformed('`body` must be a text.')
      if (!tiers.includes(tier as MessageTier)) return malformed(`\`tier\` must be one of ${tiers.join(', ')}.`)
      return { type: 'message', body, tier: tier as MessageTier, ref }
    }
    default:
      throw new LineFault('unknown_type', 'A line is one of control, release, beat, message, interrupt.')
  }
}

/** Characters of one text of an entry that a viewer is shown. */
const textLimit = 64 * 1024

const cut = (value: unknown): unknown => {
  if (typeof value === 'string' && value.length > textLimit) return `${value.slice(0, textLimit)}…`
  if (Array.isArray(value)) return value.map(cut)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, name === 'base64' ? '' : cut(inner)]))
}

/** An entry of the journal as it is shown: without the bytes of images, long texts cut. */
export const shownEntry = (entry: JournalEntryInput): unknown => cut(entry)

export type ShownDelta = Delta
