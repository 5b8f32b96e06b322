import { Inject, Injectable } from '@nestjs/common'
import type { OutputOf } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import { objectLimits } from '#common/contract/object.schema.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import { Database } from '#common/kernel/database/database.js'
import { version } from '#common/kernel/version.js'
import { StatusRepository } from './status.repository.js'

const status = contract['objects.status']

/** Full receivers that are named. */
const shown = 20

@Injectable()
export class StatusRpc {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(StatusRepository) private readonly repository: StatusRepository,
  ) {}

  @Handles(status)
  async read(): Promise<OutputOf<typeof status>> {
    const [counts, full] = await Promise.all([
      this.repository.counts(this.database),
      this.repository.full(this.database, shown),
    ])
    const { objects, watchers, watched, pending, payloadBytes, batch } = objectLimits
    return {
      version,
      ...counts,
      full,
      limits: {
        objects,
        watchers_of_one: watchers,
        watched_by_one: watched,
        pending_deliveries: pending,
        event_payload_bytes: payloadBytes,
        events_of_batch: batch,
      },
    }
  }
}
