import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { AdminConnection } from '#common/testing/admin-connection.js'
import type { TestDaemon } from '../../support/daemon.js'

/** A daemon's timers in its Redis, past the product. */
export class CronTimers {
  readonly #redis: Redis

  constructor({ data }: TestDaemon) {
    const password = readFileSync(join(data.secrets, 'redis.password'), 'utf8').trim()
    this.#redis = new Redis({ path: join(data.sockets, 'redis.sock'), password, maxRetriesPerRequest: null })
    // That it is killed by turns is what this is for: it connects again by itself.
    this.#redis.on('error', () => undefined)
  }

  async flush(): Promise<void> {
    await this.#redis.flushall()
  }

  /** What of the timers isn't as the schedules want them: one of each that is active, for its next slot. */
  async differences(database: AdminConnection): Promise<string[]> {
    const [installation] = await database.rows<{ name: string }>('SELECT name FROM scheduler.installation')
    const wanted = await database.rows<{ timer: string }>(
      `SELECT id || '-' || (extract(epoch FROM next_slot) * 1000)::bigint AS timer FROM scheduler.crons
        WHERE status = 'active' AND next_slot IS NOT NULL`,
    )
    const there = await this.#redis.zrange(`svc:${installation?.name}:slots:delayed`, '0', '-1')
    const expected = new Set(wanted.map(({ timer }) => timer))
    const found = new Set(there)
    return [
      ...[...expected].filter((timer) => !found.has(timer)).map((timer) => `no timer ${timer}`),
      ...there.filter((timer) => !expected.has(timer)).map((timer) => `a timer ${timer} of no next slot`),
    ]
  }

  stop(): void {
    this.#redis.disconnect()
  }
}
