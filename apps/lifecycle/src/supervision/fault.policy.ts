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

/** Part of a wait that is added by chance, so that all that a provider's outage stopped don't come back at once. */
const spread = 0.2

/**
 * Ms to wait before the next try. As long again as the fault has lasted, so that the waits double without a counter;
 * a provider's own delay wins. Never shorter than that, and up to a fifth longer.
 */
export const retryDelay = (
  kind: Passing,
  lastedMs: number,
  wantedMs?: number,
  random: () => number = Math.random,
): number => {
  const { least, most } = bounds[kind]
  const wait =
    wantedMs === undefined
      ? Math.min(Math.max(lastedMs, least), most)
      : Math.min(Math.max(wantedMs, 1000), longestWanted)
  return Math.round(wait * (1 + spread * random()))
}
