import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'

/** What the owner opened: kept over restarts, the same for every gateway. */
export interface AccessRecord {
  readonly listen: readonly string[]
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly updatedAt: number
}

export type AccessFields = Pick<AccessRecord, 'listen' | 'hosts' | 'origins'>

interface Row extends Omit<AccessRecord, 'updatedAt'> {
  updated_at: Date
}

const columns = 'listen, hosts, origins, version, updated_at'

const toAccess = ({ updated_at, ...row }: Row): AccessRecord => ({ ...row, updatedAt: updated_at.getTime() })

@Injectable()
export class AccessRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Writer) private readonly writer: Writer,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async read(): Promise<AccessRecord> {
    const [row] = await this.database.query<Row>(`SELECT ${columns} FROM gateway.access WHERE id = 1`)
    if (!row) throw new Error('gateway.access has lost its row')
    return toAccess(row)
  }

  /** Origins of the apps that named any, by the app's id. */
  async originsOfApps(): Promise<Map<string, readonly string[]>> {
    const rows = await this.database.query<{ id: string; origins: string[] }>(
      'SELECT id, origins FROM gateway.apps WHERE cardinality(origins) > 0',
    )
    return new Map(rows.map(({ id, origins }) => [id, origins]))
  }

  /** Writes what takes the place of version `from`; undefined when somebody else has done so since. */
  replace(ctx: Context, fields: AccessFields, from: number, onCommit: () => void): Promise<AccessRecord | undefined> {
    return this.writer.transact(ctx, async ({ tx }) => {
      const [row] = await tx.query<Row>(
        `UPDATE gateway.access SET listen = $2, hosts = $3, origins = $4, updated_at = $5, version = version + 1
          WHERE id = 1 AND version = $1 RETURNING ${columns}`,
        [from, fields.listen, fields.hosts, fields.origins, new Date(this.clock.now())],
      )
      if (row) tx.afterCommit(onCommit)
      return row && toAccess(row)
    })
  }
}
