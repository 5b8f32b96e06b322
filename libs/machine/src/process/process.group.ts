import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pause } from '../clock.js'
import { lookAfter } from './process-tree.js'

export interface GroupLimits {
  readonly processes: number
  readonly memoryBytes: number
}

interface Place {
  /** The control group that this process is in. */
  readonly directory: string
  /** Whether the groups that it makes there can be given bounds. */
  readonly bounds: boolean
}

const prefix = 'svc-'
let place: Place | null | undefined
let count = 0

/** The first line of a file of /proc that a pattern fits, its parts. */
const factsOf = (file: string, pattern: RegExp): RegExpExecArray | undefined =>
  readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => pattern.exec(line))
    .find((found) => found !== null) ?? undefined

const ownDirectory = (): string | undefined => {
  const [, mountRoot, mountPoint] = factsOf('/proc/self/mountinfo', /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /) ?? []
  const [, own] = factsOf('/proc/self/cgroup', /^0::(\/.*)$/) ?? []
  if (!mountRoot || !mountPoint || !own || own.includes('/../')) return undefined
  const below = mountRoot === '/' ? own : own.startsWith(mountRoot) ? own.slice(mountRoot.length) : undefined
  return below === undefined ? undefined : join(mountPoint, below)
}

/** Found once, by trying: a service manager, or being root, gives it; most accounts have none. */
const findPlace = (): Place | null => {
  try {
    const directory = ownDirectory()
    if (!directory) return null
    const trial = join(directory, `${prefix}${process.pid}-0`)
    mkdirSync(trial)
    const killable = existsSync(join(trial, 'cgroup.kill'))
    const bounds = existsSync(join(trial, 'pids.max')) && existsSync(join(trial, 'memory.max'))
    rmdirSync(trial)
    return killable ? { directory, bounds } : null
  } catch {
    // Read-only, another account's, or no such hierarchy: then marks and sessions must do.
    return null
  }
}

const placeOfGroups = (): Place | null => {
  if (place === undefined) place = findPlace()
  return place
}

export const canGroup = (): boolean => placeOfGroups() !== null

/**
 * A control group of the kernel's for one process: whatever it starts stays in it, also without mark, parent and session.
 * Where none can be had it holds nobody, and marks and sessions must do.
 */
export class ProcessGroup {
  /** Resolves when the process is in it; what it starts before that is not. To move one takes the kernel some 10 ms. */
  readonly joined: Promise<void>
  readonly #directory: string | undefined

  private constructor(directory: string | undefined, pid?: number) {
    this.#directory = directory
    this.joined = directory && pid !== undefined ? this.#take(directory, pid) : Promise.resolve()
  }

  static around(pid: number): ProcessGroup {
    const found = placeOfGroups()
    if (!found) return new ProcessGroup(undefined)
    count += 1
    const directory = join(found.directory, `${prefix}${pid}-${count}`)
    try {
      mkdirSync(directory)
      return new ProcessGroup(directory, pid)
    } catch {
      // Taken back meanwhile, or full: as without.
      return new ProcessGroup(undefined)
    }
  }

  static at(directory: string): ProcessGroup {
    return new ProcessGroup(directory)
  }

  /** Bounds of all in it together, where the kernel lets this account set any. */
  bound({ processes, memoryBytes }: GroupLimits): void {
    if (!this.#directory || !placeOfGroups()?.bounds) return
    try {
      writeFileSync(join(this.#directory, 'pids.max'), String(processes))
      writeFileSync(join(this.#directory, 'memory.max'), String(memoryBytes))
    } catch {
      // Removed, or taken back: no bounds, as on most machines.
    }
  }

  /** Whether anybody but this process is in it. */
  holdsMoreThan(pid: number): boolean {
    if (!this.#directory) return false
    const members = readIfThere(join(this.#directory, 'cgroup.procs')).split('\n').filter(Boolean)
    return members.some((member) => Number(member) !== pid)
  }

  /** Kills all in it at once; resolves when it is empty, and gone. */
  async end(): Promise<void> {
    const directory = this.#directory
    if (!directory) return
    await this.joined
    for (let looks = 0; this.#populated(directory); looks += 1) {
      try {
        writeFileSync(join(directory, 'cgroup.kill'), '1')
      } catch (error) {
        // Another host of this machine, at its start, may have removed what was left of it since the look.
        if (!['ENOENT', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
      }
      await pause(lookAfter(looks))
    }
    try {
      rmdirSync(directory)
    } catch {
      // Removed before.
    }
  }

  async #take(directory: string, pid: number): Promise<void> {
    try {
      await writeFile(join(directory, 'cgroup.procs'), String(pid))
    } catch {
      // It ended already, or may not be moved: the group stays empty then.
    }
  }

  #populated(directory: string): boolean {
    return /^populated 1$/m.test(readIfThere(join(directory, 'cgroup.events')))
  }
}

const readIfThere = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // Removed: nobody is in it.
    return ''
  }
}

/** Ends the groups around processes of which this is true, by their pids; resolves when they are empty. */
export const endGroups = async (ofProcess: (pid: number) => boolean): Promise<void> => {
  const { directory } = placeOfGroups() ?? {}
  if (!directory) return
  const names = readdirSync(directory).filter((name) => {
    const pid = /^svc-(\d+)-\d+$/.exec(name)?.[1]
    return pid !== undefined && ofProcess(Number(pid))
  })
  await Promise.all(names.map((name) => ProcessGroup.at(join(directory, name)).end()))
}
