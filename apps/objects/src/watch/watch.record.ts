import type { z } from 'zod'
import type { actorRef } from '#common/contract/common.schema.js'
import type { Watch } from '#common/contract/object.schema.js'
import { isoTime } from '#common/kernel/clock.js'

/** A row of objects.watches. */
export interface WatchRecord {
  readonly source_id: string
  readonly watcher_id: string
  /** None: each event. */
  readonly events: readonly string[]
  readonly tier: Watch['tier']
  readonly created_by: z.infer<typeof actorRef>
  readonly created_at: Date
  /** When it was asked for, last: by how late a word of either end it still is meant. */
  readonly asked_at: Date
}

/** @param names of objects and nodes, as far as they are known */
export const toWatch = (row: WatchRecord, names: ReadonlyMap<string, string>): Watch => ({
  watcher: row.watcher_id,
  watcher_name: names.get(row.watcher_id) ?? null,
  source: row.source_id,
  source_name: names.get(row.source_id) ?? null,
  events: row.events.length === 0 ? null : [...row.events],
  tier: row.tier,
  created_by: row.created_by,
  created_at: isoTime(row.created_at.getTime()),
})
