import { Injectable } from '@nestjs/common'
import type { WaitedFor } from '#common/contract/broker.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { NodeRecord } from '../node/node.record.js'

/** As many as an answer lists; how many more there are changes nothing. */
const listed = 100

/** Of the table node: something else than another node will wake it. */
const comesByItself = `(node.wait_until IS NOT NULL
  OR EXISTS (SELECT FROM canvas.jobs WHERE node_id = node.id AND status = 'running')
  OR EXISTS (SELECT FROM canvas.human_requests WHERE node_id = node.id AND status = 'pending'))`

/**
 * Whom it hears from: active publishers, and through a resident that rests those that the resident hears from. One that
 * rests and itself listens to this node, be it by way of others that rest, waits for it, not the other way round: of those
 * who wait for each other in a circle the last one must not wait as well.
 */
const publishers = `
  WITH RECURSIVE heard(id) AS (
    SELECT publisher FROM canvas.subscriptions WHERE subscriber = $1 AND mode = 'active'
    UNION
    SELECT further.publisher FROM heard
      JOIN canvas.nodes resting ON resting.id = heard.id AND resting.status = 'idle' AND resting.lifecycle = 'resident'
      JOIN canvas.subscriptions further ON further.subscriber = heard.id AND further.mode = 'active'
  ), waits_for_it(id) AS (
    SELECT $1
    UNION
    SELECT listener.id FROM waits_for_it
      JOIN canvas.subscriptions back ON back.publisher = waits_for_it.id AND back.mode = 'active'
      JOIN canvas.nodes listener ON listener.id = back.subscriber AND listener.status = 'idle'
  )
  SELECT node.id, node.name FROM heard JOIN canvas.nodes node ON node.id = heard.id
   WHERE node.id <> $1
     AND (node.status = 'active' OR node.status = 'idle'
          AND (${comesByItself} OR node.id NOT IN (SELECT id FROM waits_for_it)
               AND (node.lifecycle = 'terminal' OR node.waiting_since IS NOT NULL OR node.intent = 'refresh')))
   ORDER BY node.id LIMIT ${listed}`

const jobs = `SELECT id, left(command, 80) AS name FROM canvas.jobs
  WHERE node_id = $1 AND status = 'running' ORDER BY started_at, id LIMIT ${listed}`

const questions = `SELECT id, left(title, 80) AS name FROM canvas.human_requests
  WHERE node_id = $1 AND status = 'pending' ORDER BY created_at, id LIMIT ${listed}`

interface Named {
  readonly id: string
  readonly name: string
}

/** The one place that knows what may still bring a node news: whatever else ever wakes a node is added here. */
@Injectable()
export class WaitedForRepository {
  /** What a node that has nothing more to do still waits for; empty when nothing will ever wake it by itself. */
  async of(reader: Reader, node: NodeRecord): Promise<WaitedFor[]> {
    const [children, running, asked] = await Promise.all(
      [publishers, jobs, questions].map((sql) => reader.query<Named>(sql, [node.id])),
    )
    const as =
      (kind: WaitedFor['kind']) =>
      ({ id, name }: Named): WaitedFor => ({ kind, id, name })
    return [
      ...(node.waiting_since ? [{ kind: 'timer' as const, id: node.id, ...reasonOf(node) }] : []),
      ...(children ?? []).map(as('child')),
      ...(running ?? []).map(as('job')),
      ...(asked ?? []).map(as('answer')),
    ]
  }
}

const reasonOf = ({ wait_reason }: NodeRecord): { name?: string } => (wait_reason === null ? {} : { name: wait_reason })
