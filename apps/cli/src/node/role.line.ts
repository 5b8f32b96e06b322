import type { Node } from '#sdk/index.js'
import { brief } from '../output/table.js'

/** What a node is, on one line. */
export const roleLine = ({ id, name, status, kind, mode, lifecycle, engine, model }: Node): string =>
  `${id}  ${brief(name)}: ${[
    kind,
    mode,
    lifecycle,
    ...(engine === 'exec' ? [] : [model.override ?? model.strength]),
  ].join(', ')} (${status})`
