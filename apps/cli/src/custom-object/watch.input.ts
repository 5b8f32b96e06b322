import type { Command } from 'commander'
import type { WatchBody } from '#sdk/index.js'
import { UsageError } from '../failure.js'
import { oneOf } from '../input.js'
import type { Shell } from '../shell.js'

const tiers = ['critical', 'urgent', 'normal', 'deferred'] as const

export interface WatchFlags {
  readonly by?: string
  readonly events?: string
  readonly tier?: string
}

export const byText = 'the node or the object that watches; inside a node it is this one unless given'

export const addWatchFlags = (made: Command): Command =>
  made
    .option('--events <list>', 'only these events, between commas')
    .option('--tier <tier>', 'of a node that watches, the tier of its mail: critical, urgent, normal or deferred')

export const isNode = (ref: string): boolean => ref.startsWith('node_')

/** Who watches: named, else the node that this runs in. @throws UsageError */
export const watcherOf = ({ by }: WatchFlags, { nodeId }: Shell): string => {
  const watcher = by ?? nodeId
  if (watcher === undefined) throw new UsageError('who watches is missing', 'name a node or an object: --by <ref>')
  return watcher
}

/** @throws UsageError */
export const watchBody = (source: string, flags: WatchFlags, shell: Shell): WatchBody => {
  const tier = oneOf(tiers, flags.tier, '--tier')
  return {
    watcher: watcherOf(flags, shell),
    source,
    ...(flags.events !== undefined && { events: wordsOf(flags.events, '--events') }),
    ...(tier && { tier }),
  }
}

/**
 * What `--watch` of a registration names: `source`, or `source=event,event`. Of a source that is named again it is all that
 * is named; without events it is each.
 *
 * @throws UsageError
 */
export const watchedBy = (given: readonly string[] = []): { source: string; events?: string[] }[] => {
  const sources = new Map<string, ReadonlySet<string> | undefined>()
  for (const text of given) {
    const at = text.indexOf('=')
    const source = at < 0 ? text : text.slice(0, at)
    const events = at < 0 ? undefined : new Set(wordsOf(text.slice(at + 1), `--watch ${text}`))
    const before = sources.get(source)
    const first = !sources.has(source)
    sources.set(source, first ? events : before && events && before.union(events))
  }
  return [...sources].map(([source, events]) => ({ source, ...(events && { events: [...events] }) }))
}

/** Words between commas. @throws UsageError when there is none */
const wordsOf = (text: string, what: string): string[] => {
  const words = text.split(',').map((word) => word.trim())
  if (words.some((word) => word === '')) throw new UsageError(`${what} lacks a name of an event`, 'like a.b,a.c')
  return words
}
