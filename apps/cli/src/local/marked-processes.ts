import { readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../clock.js'
import { isAlive, type ProcessIdentity, readJson, readText } from './data-directory.js'

const politeMs = 5000
const finalMs = 2000

/**
 * Ends what a daemon that is gone left behind: every process that carries the mark of its data directory. Asks first,
 * kills after 5 s. Answers the pids that survive.
 */
export const endMarked = async (dataDir: string): Promise<number[]> => {
  const mark = await markOf(dataDir)
  if (mark === undefined) return []
  for (const [name, ms] of [
    ['SIGTERM', politeMs],
    ['SIGKILL', finalMs],
  ] as const) {
    for (const pid of left(dataDir, mark)) signal(pid, name)
    if (await until(ms, () => (left(dataDir, mark).length ? undefined : true))) return []
  }
  return left(dataDir, mark)
}

/** As the daemon makes it; undefined when the directory was never there. */
const markOf = async (dataDir: string): Promise<string | undefined> => {
  const { createHash } = await import('node:crypto')
  try {
    return `svc-${createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 12)}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Redis overwrites its environment with a title that holds no mark; its file in `run` names it. */
const left = (dataDir: string, mark: string): number[] => [
  ...new Set([...marked(mark), ...named(join(dataDir, 'run'))]),
]

const named = (run: string): number[] =>
  readdirSync(run)
    .filter((name) => name.endsWith('.pid'))
    .flatMap((name) => readJson<ProcessIdentity>(join(run, name)) ?? [])
    .filter(isAlive)
    .map(({ pid }) => pid)

const marked = (mark: string): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && carries(pid, mark))

/** Postgres' workers overwrite their environment with a title, which names the mark too. */
const carries = (pid: number, mark: string): boolean =>
  `\0${procText(pid, 'environ')}`.includes(`\0SVC_DATA_MARK=${mark}\0`) ||
  procText(pid, 'cmdline').startsWith(`postgres: ${mark}: `)

/** Empty for a process that is gone, or of another account. */
const procText = (pid: number, file: string): string => {
  try {
    return readText(`/proc/${pid}/${file}`) ?? ''
  } catch (error) {
    if (['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
