import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { multistream, type StreamEntry } from 'pino'
import { createLogger, type Logger } from '#common/kernel/log.js'
import { type DataDirectory } from '#common/kernel/servers/data-directory.js'
import { openLogFile, trimLogFile } from '#common/kernel/servers/log-file.js'

const trimEveryMs = 60_000

/**
 * One log for the process: JSON in `<data>/log/daemon.log`, and warnings in short lines on a terminal. Records below
 * `level` are dropped.
 */
export function openDaemonLog(data: DataDirectory, level: string): Logger {
  const path = join(data.log, 'daemon.log')
  const file = openLogFile(path)
  const streams: StreamEntry[] = [{ level: 'trace', stream: { write: (line) => writeIfPossible(file, line) } }]
  if (process.stderr.isTTY) streams.push({ level: 'warn', stream: { write: (line) => void writeShort(line) } })
  const log = createLogger('daemon', level, multistream(streams))
  setInterval(() => {
    try {
      trimLogFile(path)
    } catch (error) {
      log.warn({ err: error }, 'could not trim the log')
    }
  }, trimEveryMs).unref()
  return log
}

/** A full disk costs records, never the daemon: whoever logs must not fail because of it. */
function writeIfPossible(file: number, line: string): void {
  try {
    writeSync(file, line)
  } catch (error) {
    if (process.stderr.isTTY) process.stderr.write(`the log can't be written: ${(error as Error).message}\n`)
  }
}

function writeShort(line: string): void {
  const { level, service, msg, err } = JSON.parse(line) as {
    level: string
    service: string
    msg: string
    err?: { message?: string }
  }
  process.stderr.write(`${level} ${service}: ${msg}${err?.message ? ` (${err.message})` : ''}\n`)
}
