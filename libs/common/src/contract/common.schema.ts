import { z } from 'zod'

/** Prefixes of the identifiers (TypeIDs: prefix, underscore, 26 characters of base32). */
export const idPrefixes = [
  'node',
  'run',
  'cron',
  'req',
  'tkt',
  'obj',
  'dlv',
  'doc',
  'upl',
  'shr',
  'job',
  'tok',
  'app',
  'msg',
  'rep',
  'evt',
  'att',
] as const
export type IdPrefix = (typeof idPrefixes)[number]

/** Pattern of an identifier with this prefix; the suffix is a 128-bit number, so its first digit is 0–7. */
export const idPattern = (prefix: IdPrefix): RegExp => new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`)

export const idOf = (prefix: IdPrefix) =>
  z
    .string()
    .regex(idPattern(prefix), `must be an identifier that starts with ${prefix}_`)
    .meta({ examples: [`${prefix}_01jd0000000000000000000000`] })

export const nodeId = idOf('node')

/** RFC 3339 in UTC with milliseconds. */
export const time = z.iso.datetime({ precision: 3 }).meta({ description: 'RFC 3339 time in UTC with milliseconds' })

/** A row with a moment of the year 10000 can't be read back; what is reckoned from one of these lies before that. */
const isKept = (text: string): boolean => text >= '1970' && text < '9999'

/** A moment as a client may write it: with or without fractions of a second, in UTC or with an offset. Kept as `time`. */
export const moment = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 time, like 2026-12-01T09:00:00Z or 2026-12-01T10:00:00+01:00' })
  .overwrite((text) => {
    const ms = Date.parse(text)
    return Number.isNaN(ms) ? text : new Date(ms).toISOString()
  })
  .refine(isKept, 'must lie in the years 1970 to 9998')
  .meta({ description: 'RFC 3339 time, in UTC or with an offset' })

/** Names that a person gives: providers, profiles, custom objects. */
export const slug = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'must be a name of a-z, 0-9, _ . -')

export const absolutePath = z
  .string()
  .min(1)
  .max(4096)
  .refine((path) => path.startsWith('/') && !path.includes('\0'), 'must be an absolute path')

export const jsonSchema = z.record(z.string(), z.unknown()).meta({ description: 'A JSON Schema (draft 2020-12)' })

/** Any JSON value. */
export const json = z.unknown()

/** Query strings are text: a whole number in a query. */
/** A number as a query has it; whatever is wrong with it, one sentence says what may be given. */
export const queryInt = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`
  return z.coerce.number({ error }).int({ error, abort: true }).min(min, error).max(max, error)
}

export const queryFlag = z.enum(['true', 'false']).transform((text) => text === 'true')

export const pageQuery = {
  limit: queryInt(1, 200).default(50).meta({ description: 'Entries a page, 1 to 200' }),
  after: z.string().max(512).optional().meta({ description: 'Cursor of the previous page' }),
}

export const pageOf = <T extends z.ZodType>(entry: T) =>
  z.object({ data: z.array(entry), next_cursor: z.string().nullable(), has_more: z.boolean() })

/** Who did something, as events and records show it. */
export const actorRef = z.object({
  kind: z.enum(['owner', 'app', 'run', 'node', 'pub', 'system']),
  id: z.string().nullable(),
})

/** Tokens and money, added up over the life of what they describe; `context_tokens` is a gauge. */
export const usage = z.object({
  input_tokens: z.int().min(0),
  output_tokens: z.int().min(0),
  cached_tokens: z.int().min(0),
  cost_usd: z.number().min(0),
  context_tokens: z.int().min(0),
})
export type Usage = z.infer<typeof usage>

/** For hosts: whom a node has its authority from. An application has neither an id of a node nor a place of its own. */
export const nodeMakers = z
  .array(z.object({ node_id: nodeId.nullable(), cwd: z.string().nullable(), scopes: z.array(z.string()) }))
  .default([])
  .meta({ description: 'The nodes behind its making, the nearest first: it sees nothing that one of them does not' })

/** Of a turn, or of a step in one: counted from 1, and far from what a column holds. */
export const ordinal = z.int().min(1).max(1_000_000_000)
