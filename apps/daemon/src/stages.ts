import { systemClock } from '#common/kernel/clock.js'
import type { ServerLog } from '#common/kernel/servers/server-log.js'

/** Measures the parts of a start, which partly run at the same time. */
export class Stages {
  private readonly began = systemClock.monotonic()

  constructor(private readonly log: ServerLog) {}

  /** Milliseconds since the start of the process. */
  get total(): number {
    return Math.round(process.uptime() * 1000)
  }

  async run<T>(stage: string, work: () => Promise<T> | T): Promise<T> {
    const from = systemClock.monotonic()
    const result = await work()
    const now = systemClock.monotonic()
    this.log.debug(
      { stage, began_ms: Math.round(from - this.began), took_ms: Math.round(now - from), total_ms: this.total },
      'stage of the start done',
    )
    return result
  }
}
