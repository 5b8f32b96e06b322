import type { JobChunk } from '#common/contract/job.schema.js'
import type { Delta, NodeEvent } from '#common/contract/node.schema.js'
import type { PartInProgress, RecordedEvent } from './event.source.js'
import { frameOf } from './frames.js'

/** A durable event on its way to those who watch, encoded once for all of them. */
export interface EventEntry {
  readonly kind: 'event'
  readonly seq: number
  readonly nodeId: string
  /** Of the creation of a node: the one that it was made below. */
  readonly parentId: string | undefined
  readonly frame: Buffer
}

/** A piece of text that is never stored. */
export interface DeltaEntry {
  readonly kind: 'delta'
  readonly nodeId: string
  readonly delta: Delta
  /** The last event handed out before it. */
  readonly seq: number
  readonly frame: Buffer
}

/** Text so far of a message in progress, for those who missed some of it. */
export interface TextEntry {
  readonly kind: 'text'
  readonly nodeId: string
  readonly frame: Buffer
}

/** A piece of a background job's output, never stored with the node. */
export interface JobEntry {
  readonly kind: 'job'
  readonly nodeId: string
  readonly frame: Buffer
}

export type FeedEntry = EventEntry | DeltaEntry | TextEntry | JobEntry

export const eventEntry = ({ tree_seq, ...event }: RecordedEvent, tree: boolean): EventEntry => {
  const seq = tree ? tree_seq : event.seq
  const parent = event.type === 'node.created' ? event.data.parent_id : undefined
  const { root_id: _, ...shown } = event as NodeEvent & { root_id?: string }
  return {
    kind: 'event',
    seq,
    nodeId: event.subject,
    parentId: typeof parent === 'string' ? parent : undefined,
    frame: frameOf({ id: String(seq), event: event.type, data: shown }),
  }
}

export const deltaEntry = (nodeId: string, delta: Delta, seq: number): DeltaEntry => ({
  kind: 'delta',
  nodeId,
  delta,
  seq,
  frame: frameOf({
    id: `${seq}.${delta.generation}.${delta.message}.${delta.offset}`,
    event: 'delta',
    data: { type: 'delta', data: { node_id: nodeId, ...delta } },
  }),
})

export const jobEntry = (nodeId: string, chunk: JobChunk, seq: number): JobEntry => ({
  kind: 'job',
  nodeId,
  frame: frameOf({
    // an id that is a plain number belongs to one event alone: a client that has that one would drop this
    id: `${seq}.${chunk.offset}`,
    event: 'job.output',
    data: { type: 'job.output', data: { node_id: nodeId, ...chunk } },
  }),
})

export const textEntry = (nodeId: string, part: PartInProgress, seq: number): TextEntry => ({
  kind: 'text',
  nodeId,
  frame: frameOf({
    id: String(seq),
    event: 'message.snapshot',
    data: { type: 'message.snapshot', data: { node_id: nodeId, ...part } },
  }),
})
