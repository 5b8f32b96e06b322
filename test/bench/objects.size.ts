import type { AdminConnection } from '#common/testing/admin-connection.js'
import type { Row } from './row.js'

interface Size {
  readonly name: string
  readonly table: number
  readonly indexes: number
}

/** MB of the tables that grow with events, and of those whose rows are only ever changed. */
const tables = ['events', 'deliveries', 'sources', 'receivers', 'acks']

export const sizeRows = async (
  database: AdminConnection,
  row: (what: string, unit: Row['unit'], value: number) => Row,
): Promise<Row[]> => {
  const sizes = await database.rows<Size>(
    `SELECT relname AS name, pg_table_size(oid)::float / 1048576 AS table, pg_indexes_size(oid)::float / 1048576 AS indexes
       FROM pg_class WHERE relnamespace = 'objects'::regnamespace AND relkind = 'r' AND relname = ANY ($1)
      ORDER BY array_position($1, relname::text)`,
    [tables],
  )
  return sizes.flatMap(({ name, table, indexes }) => [
    row(`table ${name}`, 'MB', table),
    row(`indexes of ${name}`, 'MB', indexes),
  ])
}
