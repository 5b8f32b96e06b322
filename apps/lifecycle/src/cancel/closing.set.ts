/** Somebody hears of what a node does. */
export interface Watch {
  readonly subscriber: string
  readonly publisher: string
}

/**
 * What ends with a node: itself and every node below it that nobody outside of this set watches. Those who only watch
 * each other end together: begun with all of them, whatever is watched from outside is taken out until nothing more is.
 */
export const closingSet = (rootId: string, below: readonly string[], watches: readonly Watch[]): Set<string> => {
  const inside = new Set([rootId, ...below])
  const watchedBy = Map.groupBy(watches, ({ subscriber }) => subscriber)
  const outside = [...watchedBy.keys()].filter((id) => !inside.has(id))
  for (let watcher = outside.pop(); watcher !== undefined; watcher = outside.pop()) {
    for (const { publisher } of watchedBy.get(watcher) ?? []) {
      if (publisher !== rootId && inside.delete(publisher)) outside.push(publisher)
    }
  }
  return inside
}
