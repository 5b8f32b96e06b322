import type { NodeRecord } from '../node/node.record.js'

type Named = Pick<NodeRecord, 'id' | 'name'>

/** What a copy is told before anything else: its conversation reads as if it were its source. */
export const forkText = (self: Named, source: Named, turn: number): string =>
  [
    `You are not the node that this conversation was led with. You are ${self.name} (node ${self.id}), a copy of ${source.name} (node ${source.id}) made after its turn ${turn}.`,
    `${source.name} goes on by itself, with its own work, its own children and its own jobs. What it promised in this conversation, to whomever, it keeps: none of that is yours. Nodes and jobs that were started here report to it, not to you, and you don't speak for it.`,
    'What was said and found is yours to use. Files may have changed since.',
  ].join('\n')
