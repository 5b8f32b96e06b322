import type { DeclaredEvent } from '#common/contract/object.schema.js'
import { type SchemaDifference, schemaDifferences } from './schema.compatibility.js'

/** One way in which a catalog would break who keeps to the one before; `pointer` leads into the payload schema of `event`. */
export interface CatalogDifference extends SchemaDifference {
  readonly event: string
}

const gone = (event: string): CatalogDifference => ({
  event,
  pointer: '',
  breaks: ['publishers', 'receivers'],
  message: `Publishers of "${event}" are refused, and receivers wait for it in vain.`,
})

/** What of a new catalog breaks who publishes or receives by the former one. New events and descriptions break nobody. */
export const catalogDifferences = (
  before: readonly DeclaredEvent[],
  after: readonly DeclaredEvent[],
): CatalogDifference[] => {
  const declared = new Map(after.map((entry) => [entry.event, entry.payload_schema]))
  return before.flatMap(({ event, payload_schema }): CatalogDifference[] => {
    const schema = declared.get(event)
    if (schema === undefined) return [gone(event)]
    return schemaDifferences(payload_schema, schema).map((difference) => ({ event, ...difference }))
  })
}
