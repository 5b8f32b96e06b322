import type { Fault } from '#common/contract/node.schema.js'

type Kind = Fault['kind']
type Hold = NonNullable<Fault['held_for']>

/**
 * What becomes of a node whose turn a fault ended:
 * - `timed`: it passes by itself: tried again after the provider's own delay, or a growing one.
 * - `held`: waiting alone does not help: tried again as soon as what it is held for is there.
 * - `ends`: trying again won't help: the node is dead, and its watchers hear why.
 */
export type Treatment = { readonly do: 'timed' } | { readonly do: 'held'; readonly for: Hold } | { readonly do: 'ends' }

const timed: Treatment = { do: 'timed' }
const ends: Treatment = { do: 'ends' }

const treatments: Readonly<Record<Kind, Treatment>> = {
  rate_limit: timed,
  overloaded: timed,
  connection: { do: 'held', for: 'provider' },
  auth: { do: 'held', for: 'credential' },
  model_not_found: ends,
  grant: { do: 'held', for: 'grant' },
  crash_loop: ends,
  other: ends,
}

export const treatmentOf = (kind: Kind): Treatment => treatments[kind]

export type Recurring = Extract<Kind, 'rate_limit' | 'overloaded' | 'connection' | 'auth'>

/** Shortest and longest wait in ms before a turn is tried again, when the provider doesn't name one. */
const bounds: Readonly<Record<Recurring, { readonly least: number; readonly most: number }>> = {
  rate_limit: { least: 15_000, most: 300_000 },
  overloaded: { least: 10_000, most: 300_000 },
  connection: { least: 2000, most: 60_000 },
  auth: { least: 2000, most: 300_000 },
}

const longestWanted = 24 * 3600_000

/** Part of a wait that is added by chance, so that all that a provider's outage stopped don't come back at once. */
const spread = 0.2

/**
 * Ms to wait before the next try. As long again as the fault has lasted, so that the waits double without a counter;
 * a provider's own delay wins. Never shorter than that, and up to a fifth longer.
 */
export const retryDelay = (
  kind: Recurring,
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

/** A provider that answers calls may still not answer what it is probed with: tried after this long (ms) all the same. */
const longestHold = 600_000

/** Ms after which a node that is held for its provider is tried in any case. */
export const longestHeld = (random: () => number = Math.random): number =>
  Math.round(longestHold * (1 + spread * random()))

/**
 * Since when (ms since the epoch) a held node may be tried again. A provider that answers its probe and fails every call
 * is tried ever more rarely, not with each look.
 */
export const triableFrom = (fault: Fault): number => {
  const last = Date.parse(fault.last_at ?? fault.since)
  if (fault.kind !== 'connection' && fault.kind !== 'auth') return last
  return last + retryDelay(fault.kind, last - Date.parse(fault.since), undefined, () => 0)
}
