import { type DeclaredEvent, watchableNodeEvents } from '#common/contract/object.schema.js'
import { SvcError } from '#common/kernel/errors.js'

/** Whose events they are, and what to do about one that is none where the usual advice doesn't fit. */
interface Whose {
  readonly name: string
  readonly remedy?: string
}

/** Names of events, out of which a watch picks some. */
const required = (asked: readonly string[], declared: readonly string[], { name, ...advice }: Whose): string[] => {
  const unknown = asked.find((event) => !declared.includes(event))
  if (unknown === undefined) return [...new Set(asked)]
  const message = `There is no event "${unknown}" of ${name}.`
  throw new SvcError('event_not_declared', message, { event: unknown, declared, ...advice })
}

/** `node.*` stands for all whose names begin so. */
const spelledOut = (asked: string, declared: readonly string[]): readonly string[] => {
  if (!asked.endsWith('.*')) return [asked]
  const found = declared.filter((event) => event.startsWith(asked.slice(0, -1)))
  return found.length > 0 ? found : [asked]
}

/** What every node does that is woken: two that were woken by it would wake each other for ever. */
const ofBeingWoken: readonly string[] = ['node.revived', 'node.idle']
const wakeable = watchableNodeEvents.filter((event) => !ofBeingWoken.includes(event))

const circle = (event: string): SvcError => {
  const message = `names ${event}, which wakes no other node: say the tier deferred, or have an object watch`
  return new SvcError('validation_failed', undefined, { errors: [{ pointer: '/events', message }] })
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
    { name: `the object ${name}` },
  )

/**
 * The same of a node.
 *
 * @param wakes whether whoever watches is a node that is woken by what it is told
 * @throws SvcError event_not_declared, validation_failed
 */
export const nodeFilter = (events: readonly string[] | null, { wakes }: { readonly wakes: boolean }): string[] => {
  const open: readonly string[] = wakes ? wakeable : watchableNodeEvents
  const closed = events?.find((event) => ofBeingWoken.includes(event) && !open.includes(event))
  if (closed !== undefined) throw circle(closed)
  const asked = events ?? (wakes ? open : [])
  return required(
    asked.flatMap((event) => spelledOut(event, open)),
    open,
    { name: 'a node', remedy: `Name events that nodes have: ${open.join(', ')}.` },
  )
}
