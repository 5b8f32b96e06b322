import { type Bench, rounds } from './bench.js'
import { type Row, rowsOf } from './row.js'
import { measure } from './stats.js'

/** What a queue in Postgres costs at the least: one durable insert, then one durable transaction that takes it out. */
export const outboxFloor = async (bench: Bench, group: string, name: string, bytes: number): Promise<Row[]> => {
  const connection = await bench.daemon.database()
  await connection.run('CREATE TABLE public.bench_outbox (id bigserial PRIMARY KEY, payload json NOT NULL)')
  const payload = JSON.stringify({ n: 1, text: 'x'.repeat(bytes) })
  const found = await rounds(bench, 1000, (count) =>
    measure(count, 1, async () => {
      await connection.rows('INSERT INTO public.bench_outbox (payload) VALUES ($1)', [payload])
      await connection.rows('BEGIN')
      const [claimed] = await connection.rows<{ id: string }>(
        'SELECT id, payload FROM public.bench_outbox ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED',
      )
      await connection.rows('DELETE FROM public.bench_outbox WHERE id = $1', [claimed?.id])
      await connection.rows('COMMIT')
    }),
  )
  await connection.run('DROP TABLE public.bench_outbox')
  await connection.close()
  return rowsOf(group, name, found, { p50: {}, rate: {} })
}
