import { readdirSync, readFileSync } from 'node:fs'
import { processOf } from '#machine/process/process-table.js'
import { carries } from '#machine/process/process-tree.js'

/** In less than this (ms) no machine starts so many processes that their numbers come round. */
const noRound = 2000

/** Number of the process that was started last on this machine. */
const newest = (): number => Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1))

/**
 * Whether a command that has ended may have left something. To look at every process takes the host longer than most
 * commands take; what this one started is newer than it, so that after a short one a look at those is enough.
 */
export const mayRemain = (
  pid: number,
  mark: { readonly name: string; readonly value: string },
  livedMs: number,
): boolean => {
  if (livedMs >= noRound || newest() < pid) return true
  const marked = carries(mark.name, mark.value)
  return readdirSync('/proc').some((name) => {
    const row = Number(name) > pid ? processOf(Number(name)) : undefined
    return row !== undefined && (row.session === pid || row.parent === pid || marked(row))
  })
}
