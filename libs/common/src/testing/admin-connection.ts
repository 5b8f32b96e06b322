import pg from 'pg'

export interface AdminConnection {
  run(sql: string): Promise<void>
  rows<T>(sql: string, values?: unknown[]): Promise<T[]>
  close(): Promise<void>
}

/** One plain connection to a test database, for what lies outside the product: databases, looks at rows, broken ones. */
export async function openAdmin(url: string): Promise<AdminConnection> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  // A server that goes away while the connection idles is for the next query to tell.
  client.on('error', () => undefined)
  await client.connect()
  return {
    run: async (sql) => {
      await client.query(sql)
    },
    rows: async (sql, values) => (await client.query(sql, values)).rows,
    close: () => client.end(),
  }
}
