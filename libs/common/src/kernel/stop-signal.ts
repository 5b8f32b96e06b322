import { systemClock } from './clock.js'
import type { ServerLog } from './servers/server-log.js'

export interface StopOptions {
  readonly log: ServerLog
  /** Milliseconds for the drain; after that the process ends with code 1. */
  readonly within: number
  drain(signal: NodeJS.Signals): Promise<void>
}

/**
 * The first SIGTERM or SIGINT drains and ends the process: code 0, or 1 when the drain failed or took too long.
 * A second one ends it at once, with 130.
 */
export function onStopSignal(options: StopOptions): void {
  const { log, within, drain } = options
  let stopping = false
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) {
      log.warn({ signal }, 'second signal: ending at once')
      process.exit(130)
    }
    stopping = true
    log.info({ signal }, 'draining')
    systemClock.after(within, () => {
      log.error({ within }, 'the drain took too long')
      process.exit(1)
    })
    drain(signal).then(
      () => process.exit(process.exitCode ?? 0),
      (error: unknown) => {
        log.error({ err: error }, 'the drain failed')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
