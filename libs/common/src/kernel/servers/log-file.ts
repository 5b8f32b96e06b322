import { copyFileSync, openSync, readFileSync, renameSync, statSync, truncateSync } from 'node:fs'

const largest = 8 * 1024 * 1024

/** Opens a child's log for appending, 0600. The one before is kept as `<name>.1` once it is over 8 MiB. */
export function openLogFile(path: string): number {
  if (sizeOf(path) > largest) renameSync(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/**
 * Cuts a log that a living process writes to. Children append (O_APPEND), so after the cut they go on at the start;
 * lines written between the copy and the cut are lost.
 */
export function trimLogFile(path: string): void {
  if (sizeOf(path) <= largest) return
  copyFileSync(path, `${path}.1`)
  truncateSync(path, 0)
}

/** The last lines of a log, for an error message. */
export function tailOf(path: string, lines = 12): string {
  if (sizeOf(path) === 0) return '(the log is empty)'
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
