import { Injectable } from '@nestjs/common'
import type { Reader } from '#common/kernel/database/tx.js'
import { hangs, type Since } from '../canvas/hanging.query.js'
import { type Horizon, within } from '../canvas/horizon.js'
import type { NodeRecord } from '../node/node.record.js'

/** Why nobody works on what a node owes. */
export type Owes = 'dead' | 'fault' | 'hangs'

export interface OwedRow extends NodeRecord {
  readonly owes: Owes
}

/** A root that was to take another one's place and did not is no loss: that one goes on. */
const owes = (stuck: string, resting: string): string => `CASE
  WHEN n.succession IN ('booting', 'failed') THEN NULL
  WHEN n.status = 'dead' THEN 'dead'
  WHEN n.status = 'idle' AND n.fault IS NOT NULL AND n.waiting_since IS NULL THEN 'fault'
  WHEN n.status = 'idle' AND ${hangs(stuck, resting)} = 'idle' THEN 'hangs' END`

/** Nodes that owe work which nobody does. */
@Injectable()
export class OwedRepository {
  /** The oldest first. */
  list(reader: Reader, horizon: Horizon, since: Since, limit: number): Promise<OwedRow[]> {
    const values: unknown[] = [since.stuck, since.resting]
    const put = (value: unknown): string => `$${values.push(value)}`
    const seen = within(horizon, put, 'n').map((condition) => `AND ${condition}`)
    return reader.query<OwedRow>(
      `SELECT * FROM (
         SELECT n.*, ${owes('$1', '$2')} AS owes FROM canvas.nodes n
          WHERE n.status IN ('dead', 'idle') AND (n.fault IS NOT NULL OR n.status = 'dead' OR n.lifecycle = 'terminal')
            ${seen.join(' ')}) found
        WHERE owes IS NOT NULL ORDER BY created_at, id LIMIT ${put(limit)}`,
      values,
    )
  }

  /** Those of these nodes that owe work now. */
  among(reader: Reader, ids: readonly string[], since: Since): Promise<OwedRow[]> {
    return reader.query<OwedRow>(
      `SELECT * FROM (SELECT n.*, ${owes('$1', '$2')} AS owes FROM canvas.nodes n WHERE n.id = ANY ($3::text[])) found
        WHERE owes IS NOT NULL ORDER BY created_at, id`,
      [since.stuck, since.resting, ids],
    )
  }
}
