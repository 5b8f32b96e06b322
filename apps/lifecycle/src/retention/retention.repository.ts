import { Injectable } from '@nestjs/common'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

export interface Run {
  readonly class: string
  readonly last_run_at: Date
  readonly removed: number
  readonly removed_total: number
}

export interface TableSize {
  /** With its schema. */
  readonly name: string
  readonly rows: number
  readonly bytes: number
}

/** What was cleared when, and how large everything is. */
@Injectable()
export class RetentionRepository {
  note(tx: Tx, name: string, removed: number, at: Date): void {
    tx.send(
      `INSERT INTO canvas.retention AS kept (class, last_run_at, removed, removed_total) VALUES ($1, $2, $3, $3)
       ON CONFLICT (class) DO UPDATE SET last_run_at = excluded.last_run_at, removed = excluded.removed,
         removed_total = kept.removed_total + excluded.removed`,
      [name, at, removed],
    )
  }

  /** Of every service. */
  runs(reader: Reader): Promise<Run[]> {
    return reader.query<Run>(
      `SELECT class, last_run_at, removed, removed_total FROM canvas.retention
       UNION ALL SELECT class, last_run_at, removed, removed_total FROM models.retention
       UNION ALL SELECT class, last_run_at, removed, removed_total FROM scheduler.retention
       UNION ALL SELECT class, last_run_at, removed, removed_total FROM objects.retention`,
    )
  }

  sizes(reader: Reader): Promise<TableSize[]> {
    return reader.query<TableSize>(
      `SELECT n.nspname || '.' || c.relname AS name, greatest(c.reltuples, 0)::bigint AS rows,
              pg_total_relation_size(c.oid) AS bytes
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('canvas', 'gateway', 'models', 'objects', 'scheduler') AND c.relkind = 'r'`,
    )
  }

  async databaseSize(reader: Reader): Promise<number> {
    const [row] = await reader.query<{ bytes: number }>('SELECT pg_database_size(current_database()) AS bytes')
    return row?.bytes ?? 0
  }
}
