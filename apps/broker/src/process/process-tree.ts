import { readdirSync, readFileSync } from 'node:fs'
import { monotonic, pause } from '../clock.js'

const read = (pid: number, file: 'stat' | 'environ'): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    // Gone meanwhile, or another account's: neither can be one of ours.
    return ''
  }
}

/** Living processes, but this one, that were started with this mark or one below it; a zombie doesn't live. */
export const marked = (mark: string): number[] => {
  const entry = `\0SVC_BROKER_MARK=${mark}`
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) return []
    const environment = `\0${read(pid, 'environ')}\0`
    if (!environment.includes(`${entry}\0`) && !environment.includes(`${entry}/`)) return []
    const stat = read(pid, 'stat')
    return /^[ZX]?$/.test(stat.charAt(stat.lastIndexOf(')') + 2)) ? [] : [pid]
  })
}

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // Gone, or a program that changed its account: the host confirms the end in either case.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** Kills at once, without waiting for the end: for when this process itself goes. */
export const killNow = (mark: string): void => {
  for (let pass = 0; pass < 3; pass += 1) for (const pid of marked(mark)) send(pid, 'SIGKILL')
}

/**
 * Ends all that carries the mark, wherever it went: SIGTERM, then after `graceMs` SIGKILL. Resolves when none is left,
 * or after 5 s more, since what hangs in the kernel is the host's to confirm.
 */
export const endMarked = async (mark: string, graceMs: number): Promise<void> => {
  const deadline = monotonic() + graceMs
  let alive = marked(mark)
  if (graceMs > 0) for (const pid of alive) send(pid, 'SIGTERM')
  for (let look = 0; alive.length && monotonic() < deadline + 5000; look += 1) {
    if (monotonic() >= deadline) for (const pid of alive) send(pid, 'SIGKILL')
    await pause(Math.min(50, 2 * 2 ** Math.min(look, 5)))
    alive = marked(mark)
  }
}
