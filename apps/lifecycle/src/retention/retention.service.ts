import { Inject, Injectable } from '@nestjs/common'
import type { Retention } from '#common/contract/index.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { Database } from '#common/kernel/database/database.js'
import { type RetentionClass, retentionPolicy } from './retention.policy.js'
import { RetentionRepository, type Run, type TableSize } from './retention.repository.js'

/** What is kept how long, and how much of it there is. */
@Injectable()
export class RetentionService {
  constructor(
    private readonly database: Database,
    private readonly repository: RetentionRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async show(): Promise<Retention> {
    const [runs, sizes, database_bytes] = await Promise.all([
      this.repository.runs(this.database),
      this.repository.sizes(this.database),
      this.repository.databaseSize(this.database),
    ])
    const classes = retentionPolicy(this.settings).map((entry) => shown(entry, sizes, runs))
    return { classes, database_bytes }
  }
}

const shown = (
  { class: name, what, tables, days, kept, setting }: RetentionClass,
  sizes: readonly TableSize[],
  runs: readonly Run[],
): Retention['classes'][number] => {
  const own = sizes.filter((table) => tables.includes(table.name))
  const run = runs.find((one) => one.class === name)
  return {
    class: name,
    what,
    kept: kept ?? `${days} day${days === 1 ? '' : 's'}`,
    days,
    setting: setting ?? null,
    rows: own.reduce((sum, { rows }) => sum + rows, 0),
    bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
    last_run_at: run?.last_run_at.toISOString() ?? null,
    removed: run?.removed ?? 0,
    removed_total: run?.removed_total ?? 0,
  }
}
