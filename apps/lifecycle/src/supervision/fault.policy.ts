import type { Fault } from '#common/contract/node.schema.js'

type Kind = Fault['kind']
type Passing = Extract<Kind, 'rate_limit' | 'overloaded' | 'connection'>

/** Shortest and longest wait in ms before a turn is tried again, when the provider doesn't name one. */
const bounds: Record<Passing, { readonly least: number; readonly most: number }> = {
  rate_limit: { least: 15_000, most: 300_000 },
  overloaded: { least: 10_000, most: 300_000 },
  connection: { least: 5000, most: 60_000 },
}

const longestWanted = 24 * 3600_000

/** Faults that pass by themselves: the node keeps its work and is tried again for as long as it takes. */
export const isPassing = (kind: Kind): kind is Passing => kind in bounds

/**
 * Ms to wait before the next try. As long again as the fault has lasted, so that the waits double without a counter;
 * a provider's own delay wins.
 */
export const retryDelay = (kind: Passing, lastedMs: number, wantedMs?: number): number => {
  const { least, most } = bounds[kind]
  if (wantedMs !== undefined) return Math.min(Math.max(wantedMs, 1000), longestWanted)
  return Math.min(Math.max(lastedMs, least), most)
}
