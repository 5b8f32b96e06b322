import { readdirSync, readFileSync } from 'node:fs'
import type { TestDaemon } from '../support/daemon.js'
import type { ProcessName } from '../support/daemon-processes.js'

/** Ticks of the kernel's clock a second, as /proc counts CPU time; fixed on Linux. */
const ticks = 100

type Group = 'daemon' | 'host' | 'brokers' | 'postgres' | 'nats' | 'redis'

interface ProcessLine {
  readonly pid: number
  readonly parent: number
  /** CPU ms of it and of its children that have ended. */
  readonly cpu: number
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

const lineOf = (pid: number): ProcessLine | undefined => {
  const text = read(`/proc/${pid}/stat`)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  if (fields.length < 15) return undefined
  const spent = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
  return { pid, parent: Number(fields[1]), cpu: (spent * 1000) / ticks }
}

const table = (): ProcessLine[] =>
  readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (lineOf(Number(name)) ?? []) : []))

/** Which processes of a daemon are alive, by what they are. */
export const processesOf = (daemon: TestDaemon): Record<Group, ProcessLine[]> => {
  const all = table()
  const family = (root: number | undefined, depth: number): ProcessLine[] => {
    if (root === undefined) return []
    const children = depth > 0 ? all.filter(({ parent }) => parent === root) : []
    return [...all.filter(({ pid }) => pid === root), ...children.flatMap(({ pid }) => family(pid, depth - 1))]
  }
  const pidOf = (name: ProcessName): number | undefined => daemon.processes.find(name)?.pid
  const host = pidOf('host')
  return {
    daemon: family(pidOf('daemon'), 0),
    host: family(host, 0),
    brokers: family(host, 3).filter(({ pid }) => pid !== host),
    postgres: family(pidOf('postgres'), 1),
    nats: family(pidOf('nats'), 0),
    redis: family(pidOf('redis'), 0),
  }
}

/** CPU ms of each group so far. Processes that end in between are counted once their parent has reaped them. */
const spentBy = (daemon: TestDaemon): Record<Group, number> => {
  const groups = Object.entries(processesOf(daemon)) as [Group, ProcessLine[]][]
  return Object.fromEntries(
    groups.map(([group, lines]) => [group, lines.reduce((sum, { cpu }) => sum + cpu, 0)]),
  ) as Record<Group, number>
}

/** Runs `work`, which answers how many operations it was; answers the CPU ms an operation that each group spent. */
export const metered = async (daemon: TestDaemon, work: () => Promise<number>): Promise<Record<string, number>> => {
  const before = spentBy(daemon)
  const operations = await work()
  const after = spentBy(daemon)
  const groups = Object.keys(after) as Group[]
  return Object.fromEntries(groups.map((group) => [group, (after[group] - before[group]) / operations]))
}

/** Proportional share of memory in MB: pages that several processes share are divided among them. */
export const memoryOf = (pids: readonly number[]): number => {
  const kilobytes = pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0))
  return kilobytes.reduce((sum, size) => sum + size, 0) / 1024
}

/** Memory in MB that no other process shares. */
export const privateMemoryOf = (pids: readonly number[]): number => {
  const kilobytes = pids.map((pid) => {
    const rollup = read(`/proc/${pid}/smaps_rollup`)
    return [...rollup.matchAll(/^Private_\w+:\s+(\d+)/gm)].reduce((sum, [, size]) => sum + Number(size), 0)
  })
  return kilobytes.reduce((sum, size) => sum + size, 0) / 1024
}
