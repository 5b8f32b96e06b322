import type { CustomObject } from '#common/contract/object.schema.js'
import { isoTime } from '#common/kernel/clock.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { WatchedRepository } from '../watch/watched.repository.js'
import type { ObjectRecord } from './object.record.js'
import type { ReceiverRepository } from './receiver.repository.js'

/** Objects as they are shown: with what came of them so far. */
export class ObjectViews {
  constructor(
    private readonly watched: WatchedRepository,
    private readonly receivers: ReceiverRepository,
  ) {}

  async one(reader: Reader, row: ObjectRecord): Promise<CustomObject> {
    return (await this.all(reader, [row]))[0] as CustomObject
  }

  async all(reader: Reader, rows: readonly ObjectRecord[]): Promise<CustomObject[]> {
    if (rows.length === 0) return []
    const [watched, states] = await Promise.all([
      this.watched.of(
        reader,
        rows.map(({ id }) => id),
      ),
      this.receivers.states(
        reader,
        rows.filter(({ receiver }) => receiver !== null).map(({ id }) => id),
      ),
    ])
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      description: row.description,
      catalog: [...row.catalog],
      catalog_version: row.catalog_version,
      receiver: row.receiver,
      receiver_state: states.get(row.id) ?? null,
      watchers: watched.get(row.id)?.watchers ?? 0,
      published: watched.get(row.id)?.event_seq ?? 0,
      app_id: row.app_id,
      created_by: row.created_by,
      version: row.version,
      created_at: isoTime(row.created_at.getTime()),
      updated_at: isoTime(row.updated_at.getTime()),
    }))
  }
}
