import type { z } from 'zod'
import { type CallOf, contract } from '#common/contract/index.js'
import type { nodeEnd, nodeSuccession } from '#common/contract/work.internal.js'
import type { OutboxMessage } from '#common/kernel/database/tx.js'
import type { NodeRecord } from './node.record.js'

type End = z.infer<typeof nodeEnd>
type Succession = z.infer<typeof nodeSuccession>

/** Those who keep something with a node: schedules, and watches. */
const ended = [contract['scheduler.node.ended'], contract['objects.node.ended']] as const
const succeeded = [contract['scheduler.node.succeeded'], contract['objects.node.succeeded']] as const

/** What is said of nodes to other services. */
export const nodeMessages = [...ended, ...succeeded] as const
export type NodeMessage = CallOf<(typeof nodeMessages)[number]>

/**
 * Tells who keeps something with a node how that ended: each end once, as each raises the version.
 *
 * @param node as it is after that
 */
export const nodeEnded = (
  { id, version, updated_at }: Pick<NodeRecord, 'id' | 'version' | 'updated_at'>,
  how: End['how'],
): OutboxMessage[] =>
  ended.map(({ name, service }) => {
    const key = `${name}:${id}:${how}:${version}`
    const payload: End = { source_event: key, node_id: id, how, ended_at: updated_at.toISOString() }
    return { key, target: service, type: name, payload }
  })

/** Tells them that a root has given its place to another, which it does once: what was kept goes on with that one. */
export const nodeSucceeded = (from: string, to: string, at: Date): OutboxMessage[] =>
  succeeded.map(({ name, service }) => {
    const key = `${name}:${from}:${to}`
    const payload: Succession = { source_event: key, from, to, at: at.toISOString() }
    return { key, target: service, type: name, payload }
  })
