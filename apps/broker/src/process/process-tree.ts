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

export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
}

/** Living processes but this one; a zombie doesn't live. */
const living = (): ProcessRow[] =>
  readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) return []
    const stat = read(pid, 'stat')
    // The name in parentheses may itself hold spaces and parentheses, so fields are counted from the last one.
    const [state, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return !state || state === 'Z' || state === 'X' ? [] : [{ pid, parent: Number(parent), session: Number(session) }]
  })

const carries = (mark: string): ((row: ProcessRow) => boolean) => {
  const entry = `\0SVC_BROKER_MARK=${mark}`
  return ({ pid }) => {
    const environment = `\0${read(pid, 'environ')}\0`
    return environment.includes(`${entry}\0`) || environment.includes(`${entry}/`)
  }
}

/** Living processes, but this one, that were started with this mark or one below it. */
export const marked = (mark: string): number[] =>
  living()
    .filter(carries(mark))
    .map(({ pid }) => pid)

/**
 * What carries the mark or is a root, what descends from those, and what shares a session with them: `env -i`, `sudo` and
 * programs that give themselves a title lose the mark. Each program leads a session of its own, so none reaches further.
 */
const treeOf = (mark: string, isRoot: (row: ProcessRow) => boolean): number[] => {
  const all = living()
  const isMarked = carries(mark)
  const found = new Set(all.filter((row) => isRoot(row) || isMarked(row)))
  for (let before = -1; before !== found.size; ) {
    before = found.size
    const pids = new Set([...found].map(({ pid }) => pid))
    const sessions = new Set([...found].map(({ session }) => session))
    // Session 0 is what a container shows of all sessions outside of it.
    for (const row of all) if (pids.has(row.parent) || (row.session !== 0 && sessions.has(row.session))) found.add(row)
  }
  return [...found].map(({ pid }) => pid)
}

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // Gone, or a program that changed its account: the host confirms the end in either case.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

const isChild = ({ parent }: ProcessRow): boolean => parent === process.pid

/** Kills all that this process started at once, without waiting for the end: for when it itself goes. */
export const killNow = (mark: string): void => {
  for (let pass = 0; pass < 3; pass += 1) for (const pid of treeOf(mark, isChild)) send(pid, 'SIGKILL')
}

/**
 * Ends all that carries the mark or belongs to a root, wherever it went: SIGTERM, then after `graceMs` SIGKILL. Resolves
 * when none is left, or after 5 s more, since what hangs in the kernel is the host's to confirm.
 */
export const endTree = async (mark: string, graceMs: number, isRoot = isChild): Promise<void> => {
  const deadline = monotonic() + graceMs
  let alive = treeOf(mark, isRoot)
  for (const pid of alive) send(pid, 'SIGTERM')
  for (let look = 0; alive.length && monotonic() < deadline + 5000; look += 1) {
    if (monotonic() >= deadline) for (const pid of alive) send(pid, 'SIGKILL')
    await pause(Math.min(50, 2 * 2 ** Math.min(look, 5)))
    alive = treeOf(mark, isRoot)
  }
}
