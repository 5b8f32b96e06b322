import { Injectable } from '@nestjs/common'
import type { WaitedFor } from '#common/contract/broker.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { NodeRecord } from '../node/node.record.js'

/** As many as an answer lists; how many more there are changes nothing. */
const listed = 100

/**
 * Whom it hears from: active publishers, and through a resident that rests those that the resident hears from. One that
 * rests and itself listens to this node waits for it, not the other way round.
 */
const publishers = `
  WITH RECURSIVE heard(id) AS (
    SELECT publisher FROM canvas.subscriptions WHERE subscriber = $1 AND mode = 'active'
    UNION
    SELECT further.publisher FROM heard
      JOIN canvas.nodes resting ON resting.id = heard.id AND resting.status = 'idle' AND resting.lifecycle = 'resident'
      JOIN canvas.subscriptions further ON further.subscriber = heard.id AND further.mode = 'active'
  )
  SELECT node.id, node.name FROM heard JOIN canvas.nodes node ON node.id = heard.id
   WHERE node.id <> $1
     AND (node.status = 'active' OR node.status = 'idle'
          AND (node.lifecycle = 'terminal' OR node.waiting_since IS NOT NULL OR node.intent = 'refresh'
               OR EXISTS (SELECT FROM canvas.jobs WHERE node_id = node.id AND status = 'running'))
          AND NOT EXISTS (SELECT FROM canvas.subscriptions back
                           WHERE back.subscriber = node.id AND back.publisher = $1 AND back.mode = 'active'))
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
