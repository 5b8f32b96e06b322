import type { DeclaredEventInput } from '#sdk/index.js'
import { UsageError } from '../failure.js'
import { jsonIn } from '../input.js'

export interface CatalogFlags {
  readonly catalog?: string
  readonly event?: readonly string[]
}

export const catalogText = 'its events as JSON, a list of {event, description, payload_schema}: a file, or "-"'
export const eventText = 'an event, with its payload schema from a file if it has one; may be repeated'

/**
 * The events that a command line declares; undefined where it says nothing of them.
 *
 * @throws UsageError
 */
export const declaredEvents = async ({ catalog, event }: CatalogFlags): Promise<DeclaredEventInput[] | undefined> => {
  if (catalog === undefined && event === undefined) return undefined
  const listed = catalog === undefined ? [] : await jsonIn(catalog, '--catalog')
  if (!Array.isArray(listed)) {
    throw new UsageError('--catalog is no list of events', 'like [{"event": "build.failed", "payload_schema": {…}}]')
  }
  return [...(listed as DeclaredEventInput[]), ...(await eventsOf(event))]
}

/** Events as `--event` names them: `name`, or `name=schema.json`. @throws UsageError */
export const eventsOf = async (given: readonly string[] = []): Promise<DeclaredEventInput[]> => {
  const events: DeclaredEventInput[] = []
  for (const text of given) {
    const at = text.indexOf('=')
    if (at < 0) events.push({ event: text })
    else events.push({ event: text.slice(0, at), payload_schema: await schemaIn(text.slice(at + 1), text) })
  }
  return events
}

const schemaIn = async (source: string, text: string): Promise<Record<string, unknown>> => {
  const schema = await jsonIn(source, `the schema of --event ${text}`)
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return schema as Record<string, unknown>
  throw new UsageError(`the schema of --event ${text} is no JSON Schema`, 'like {"type": "object"}')
}
