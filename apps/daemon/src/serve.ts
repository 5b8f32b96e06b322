import { join } from 'node:path'
import { isoTime, systemClock } from '#common/kernel/clock.js'
import { baseUrlOf, loadSettings } from '#common/kernel/config.js'
import { openDataDirectory } from '#common/kernel/servers/data-directory.js'
import { acquireDataLock } from '#common/kernel/servers/data-lock.js'
import { onStopSignal } from '#common/kernel/stop-signal.js'
import { openTracing } from '#common/kernel/trace/tracing.js'
import { version } from '#common/kernel/version.js'
import { Daemon } from './daemon.js'
import { removeDaemonFile, writeDaemonFile } from './daemon-file.js'
import { openDaemonLog } from './daemon-log.js'
import { clearDownFiles, reportDown, takeDownRequest } from './down.js'
import { readyText } from './ready-text.js'
import { type ServiceEntry, services } from './services.js'
import { Stages } from './stages.js'

/** Milliseconds for a whole stop, with the host's brokers and Postgres' last checkpoint in it. */
const stopWithin = 90_000

/** Serves until a signal. Throws when the daemon can't start, after closing what did. */
export async function serve(entries: readonly ServiceEntry[] = services): Promise<void> {
  const settings = loadSettings()
  const data = openDataDirectory(settings.SVC_DATA_DIR)
  const lock = acquireDataLock(data)
  const log = openDaemonLog(data, settings.SVC_LOG_LEVEL)
  const closeTracing = await openTracing('svc', process.env)
  const stages = new Stages(log)
  const daemon = new Daemon({ data, settings, services: entries, log, stages })
  // The services' timers don't keep a process alive, and between two stages nothing else does.
  const hold = setInterval(() => undefined, 60_000)
  removeDaemonFile(data)
  clearDownFiles(data)

  const stop = async (): Promise<void> => {
    const { nodes } = takeDownRequest(data)
    removeDaemonFile(data)
    const left = await daemon.stop({ nodes })
    await closeTracing()
    if (left.length > 0) process.exitCode = 1
    reportDown(data, { nodes, left })
    lock.release()
    clearInterval(hold)
    log.info({ nodes, left }, 'stopped')
  }
  let heard: boolean
  try {
    const starting = daemon.start()
    onStopSignal({
      log,
      within: stopWithin,
      // A signal during the start waits for its end: a half-started server would be left behind.
      drain: async () => {
        await Promise.allSettled([starting])
        await stop()
      },
    })
    heard = await starting
  } catch (error) {
    log.fatal({ err: error }, 'the daemon can’t start')
    await stop()
    throw error
  }
  const base_url = baseUrlOf(settings)
  const started_at = isoTime(systemClock.now())
  if (!heard) log.warn('the host of this machine is not heard yet')
  const socket = join(data.sockets, 'owner.sock')
  writeDaemonFile(data, { pid: process.pid, started_at, version, base_url, socket, heard })
  log.info({ base_url, took_ms: stages.total, version }, 'ready')
  process.stdout.write(readyText({ base_url, tookMs: stages.total, dataDir: data.path, heard }))
}
