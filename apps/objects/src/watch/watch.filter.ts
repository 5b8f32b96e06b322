import { type DeclaredEvent, watchableNodeEvents } from '#common/contract/object.schema.js'
import { SvcError } from '#common/kernel/errors.js'

/** Names of events, out of which a watch picks some. */
const required = (asked: readonly string[], declared: readonly string[], whose: string): string[] => {
  const unknown = asked.find((event) => !declared.includes(event))
  if (unknown === undefined) return [...new Set(asked)]
  throw new SvcError('event_not_declared', `There is no event "${unknown}" of ${whose}.`, { event: unknown, declared })
}

/** `node.*` stands for all whose names begin so. */
const spelledOut = (asked: string): readonly string[] => {
  if (!asked.endsWith('.*')) return [asked]
  const found = watchableNodeEvents.filter((event) => event.startsWith(asked.slice(0, -1)))
  return found.length > 0 ? found : [asked]
}

/**
 * What a watch of an object is filtered by; none named: each event, also one that is declared later.
 *
 * @throws SvcError event_not_declared
 */
export const objectFilter = (
  { name, catalog }: { readonly name: string; readonly catalog: readonly DeclaredEvent[] },
  events: readonly string[] | null,
): string[] =>
  required(
    events ?? [],
    catalog.map(({ event }) => event),
    `the object ${name}`,
  )

/** The same of a node. @throws SvcError event_not_declared */
export const nodeFilter = (events: readonly string[] | null): string[] =>
  required((events ?? []).flatMap(spelledOut), watchableNodeEvents, 'a node')
