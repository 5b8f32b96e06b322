import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pause, systemClock } from '#common/kernel/clock.js'
import { loadSettings } from '#common/kernel/config.js'
import { openDataDirectory } from '#common/kernel/servers/data-directory.js'
import { DataDirectoryBusy, lockHolder } from '#common/kernel/servers/data-lock.js'
import { openLogFile, tailOf } from '#common/kernel/servers/log-file.js'
import { removeIfPresent } from '#common/kernel/servers/private-file.js'
import { readDaemonFile } from './daemon-file.js'
import { daemonFlags } from './node-flags.js'
import { readyText } from './ready-text.js'

/**
 * Starts the daemon in a session of its own, its output in `<data>/log/daemon.out`, and waits until it is ready.
 * Throws with the end of its output when it ends before that.
 */
export async function startDetached(): Promise<void> {
  const settings = loadSettings()
  const data = openDataDirectory(settings.SVC_DATA_DIR)
  const holder = lockHolder(data)
  if (holder) throw new DataDirectoryBusy(data.path, holder.pid)
  const logFile = join(data.log, 'daemon.out')
  removeIfPresent(logFile)
  const out = openLogFile(logFile)
  const [, main = ''] = process.argv
  const child = spawn(process.execPath, [...daemonFlags, main, '--foreground'], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', out, out],
  })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  for (;;) {
    const ready = readDaemonFile(data)
    if (ready && ready.pid === child.pid) {
      const { base_url, heard } = ready
      process.stdout.write(readyText({ base_url, tookMs: process.uptime() * 1000, dataDir: data.path, heard }))
      process.exit(0)
    }
    const code = await Promise.race([ended, pause(systemClock, 20).then(() => undefined)])
    if (code !== undefined) throw new Error(`the daemon ended (${code}). From ${logFile}:\n${tailOf(logFile)}`)
  }
}
