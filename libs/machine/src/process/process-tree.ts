import { monotonic, pause } from '../clock.js'
import { type ProcessRow, readProcesses, signalProcess } from './process-table.js'

/** Picks the processes that a tree starts from. */
export type Belongs = (row: ProcessRow) => boolean

/** Processes that carry `name=value`, or `value` with a part of its own after a slash, in their first environment. */
export const carries = (name: string, value: string): Belongs => {
  const entry = `\0${name}=${value}`
  return (row) => {
    const environment = row.environment()
    return environment.includes(`${entry}\0`) || environment.includes(`${entry}/`)
  }
}

/** The monitor or the init of a sandbox. */
const isSandbox: Belongs = ({ name }) => name === 'bwrap'

/** What was killed and is not gone by then hangs in the kernel; it runs no more of its program (ms). */
const dyingLimit = 5000

/**
 * The kernel lets a sandbox's init go only after all that ran there; but one that was dying at the first look already shows
 * no mark any more. So any is waited for, whosever it is: it takes a moment.
 */
const dyingSandboxes = async (): Promise<void> => {
  const deadline = monotonic() + dyingLimit
  for (let count = 0; monotonic() < deadline; count += 1) {
    if (!readProcesses().some((row) => row.dying && isSandbox(row))) return
    await pause(lookAfter(count))
  }
}

/**
 * All that belongs, what descends from those, and what shares a session with them. A mark finds what left its tree by a
 * double fork or `setsid`; parents and sessions find what wiped its environment, lost it to `sudo`, or gave itself a title.
 * Whoever starts a program makes it the leader of a session of its own, so no session reaches beyond it.
 */
export const treeOf = (belongs: Belongs): ProcessRow[] => {
  const all = readProcesses()
  const found = new Set(all.filter(belongs))
  for (let before = -1; before !== found.size; ) {
    before = found.size
    const pids = new Set([...found].map((row) => row.pid))
    const sessions = new Set([...found].map((row) => row.session))
    // Session 0 is what a container shows of all sessions outside of it.
    for (const row of all) if (pids.has(row.parent) || (row.session !== 0 && sessions.has(row.session))) found.add(row)
  }
  return [...found]
}

/** Waits between looks at a dying tree (ms): most are gone at the first. */
const looks = [2, 5, 10, 20, 50]

export const lookAfter = (look: number): number => looks[Math.min(look, looks.length - 1)]!

/**
 * Ends a tree and answers only when nothing of it lives: SIGTERM, up to `graceMs` to leave, then all are stopped (so
 * that none forks while the others die) and killed, again and again until a look finds none. Sandboxes are asked by
 * what runs in them, since they leave with it, and it would be killed with them. What can't die, for it
 * hangs in the kernel, keeps this waiting: "cannot tell" is never taken for "gone". With `patienceMs` it gives up that
 * long after the grace, and answers false: somebody else confirms then.
 */
export const endTree = async (belongs: Belongs, graceMs: number, patienceMs = Infinity): Promise<boolean> => {
  const deadline = monotonic() + graceMs
  // One that was found belongs until it is gone: dying, it shows no mark any more.
  const known = new Set<string>()
  const look = (): ProcessRow[] => {
    const found = treeOf((row) => known.has(lifeOf(row)) || belongs(row))
    for (const row of found) known.add(lifeOf(row))
    return found
  }
  let alive = look()
  if (graceMs > 0) for (const row of alive) if (!isSandbox(row)) signalProcess(row, 'SIGTERM')
  for (let count = 0; alive.length; count += 1) {
    const left = deadline - monotonic()
    if (left <= -patienceMs) return false
    if (left <= 0) {
      freeze(look, alive)
      for (const row of look()) signalProcess(row, 'SIGKILL')
    }
    await pause(left > 0 ? Math.min(lookAfter(count), Math.max(1, left)) : lookAfter(count))
    alive = look()
  }
  await dyingSandboxes()
  return true
}

/** Kills a tree without waiting for its end: for when this process itself goes. */
export const killTree = (belongs: Belongs): void => {
  for (let pass = 0; pass < 3; pass += 1) for (const row of treeOf(belongs)) signalProcess(row, 'SIGKILL')
}

const lifeOf = ({ pid, startTicks }: ProcessRow): string => `${pid}.${startTicks}`

const freeze = (look: () => ProcessRow[], first: readonly ProcessRow[]): void => {
  let known = new Set<number>()
  for (let pass = 0, rows = first; pass < 8 && rows.some((row) => !known.has(row.pid)); pass += 1) {
    for (const row of rows) signalProcess(row, 'SIGSTOP')
    known = new Set(rows.map((row) => row.pid))
    rows = look()
  }
}
