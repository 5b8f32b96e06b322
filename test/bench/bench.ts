import type { AdminConnection } from '#common/testing/admin-connection.js'
import type { TestDaemon } from '../support/daemon.js'
import type { LoadTasks } from './load.main.js'
import type { MockTasks } from './mock.main.js'
import { metered } from './process.meter.js'
import type { Row } from './row.js'
import type { Round } from './stats.js'
import type { Worker } from './worker.js'

/** What every part of the benchmark works with. */
export interface Bench {
  readonly daemon: TestDaemon
  readonly load: Worker<LoadTasks>
  readonly mock: Worker<MockTasks>
  readonly wire: { readonly url: string; readonly token: string }
  readonly database: AdminConnection
  readonly options: BenchOptions
}

export interface BenchOptions {
  /** Only the parts whose names hold one of these. */
  readonly only: readonly string[]
  readonly json: string
  /** A fifth of the work: shows that everything runs. */
  readonly quick: boolean
  /** Parts that have a size take their greatest: minutes to fill a database. */
  readonly scale: boolean
  /** Where CPU profiles of the daemon's processes are written. */
  readonly profile?: string
}

export type Part = (bench: Bench) => Promise<Row[]>

export interface Rounds {
  readonly rounds: readonly Round[]
  /** CPU ms an operation, by group of processes, the warm-up left out. */
  readonly cpu: Readonly<Record<string, number>>
}

/** A warm-up, then rounds of the same work. */
export const rounds = async (
  { options, daemon }: Bench,
  count: number,
  work: (count: number) => Promise<Round>,
): Promise<Rounds> => {
  const size = options.quick ? Math.ceil(count / 5) : count
  const times = options.quick ? 2 : 5
  await work(Math.ceil(size / 2))
  const found: Round[] = []
  const cpu = await metered(daemon, async () => {
    for (let round = 0; round < times; round += 1) found.push(await work(size))
    return times * size
  })
  return { rounds: found, cpu }
}
