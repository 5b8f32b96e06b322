import { UsageError } from '../failure.js'
import type { Shell } from '../shell.js'

/** The node that was named, else the one that this runs in. @throws UsageError */
export const nodeOf = (given: string | undefined, { nodeId }: Shell, what = 'the node'): string => {
  const id = given ?? nodeId
  if (id === undefined) throw new UsageError(`${what} is missing`, 'name it by its id; svc node list shows them')
  return id
}
