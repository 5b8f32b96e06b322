import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DataDirectory } from '#common/kernel/servers/data-directory.js'
import { lockHolder } from '#common/kernel/servers/data-lock.js'
import { processesOf } from '#common/kernel/servers/directory-processes.js'
import {
  findByEnvironment,
  findMarked,
  identify,
  isAlive,
  type ProcessIdentity,
  parentOf,
  parseIdentity,
  signal,
} from '#common/kernel/servers/process-identity.js'

export const processNames = ['daemon', 'host', 'nats', 'redis', 'postgres'] as const
export type ProcessName = (typeof processNames)[number]
/** Services that a daemon of the chaos harness has in processes of their own. */
export type ApartName = 'lifecycle' | 'scheduler' | 'objects' | 'gateway'

/** The processes of one daemon, found by what they left in the data directory and by the marks in their environments. */
export class DaemonProcesses {
  constructor(private readonly data: DataDirectory) {}

  /** The living process of that name: the postmaster of Postgres, the process that holds all services. */
  find(name: ProcessName | ApartName): ProcessIdentity | undefined {
    if (name === 'daemon') return lockHolder(this.data)
    const identity = parseIdentity(textOf(join(this.data.run, `${name}.pid`)))
    return identity && isAlive(identity) ? identity : undefined
  }

  /** Brokers, warm ones too, without the tools that they run. */
  brokers(): ProcessIdentity[] {
    return findByEnvironment('SVC_DATA_MARK', this.data.mark).filter(({ pid }) =>
      /\0[^\0]*broker\.mjs\0/.test(textOf(`/proc/${pid}/cmdline`)),
    )
  }

  /** Everything that serves this data directory. */
  all(): ProcessIdentity[] {
    const daemon = this.find('daemon')
    return [...(daemon ? [daemon] : []), ...processesOf(this.data)]
  }

  /** Processes that work for a node, by the mark of the broker that started each. */
  toolsByNode(): Map<string, Set<string>> {
    const found = new Map<string, Set<string>>()
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const environment = textOf(`/proc/${pid}/environ`)
      if (!environment.includes(`SVC_DATA_MARK=${this.data.mark}\0`)) continue
      const node = /(?:^|\0)SVC_NODE_ID=([^\0]*)/.exec(environment)?.[1]
      const broker = /(?:^|\0)SVC_BROKER_MARK=([^\0]*)/.exec(environment)?.[1]
      if (!node || !broker || !identify(Number(pid))) continue
      found.set(node, (found.get(node) ?? new Set()).add(broker))
    }
    return found
  }

  /**
   * Stops a process in the middle of whatever it does, Postgres with all its backends; the function that is returned
   * lets it go on.
   */
  pause(target: ProcessName | ApartName | ProcessIdentity): () => void {
    const whole = this.#whole(target)
    for (const identity of whole) signal(identity, 'SIGSTOP')
    return () => {
      for (const identity of whole) signal(identity, 'SIGCONT')
    }
  }

  /** False when there was none. */
  kill(target: ProcessName | ApartName | ProcessIdentity): boolean {
    const identity = typeof target === 'string' ? this.find(target) : target
    return identity !== undefined && signal(identity, 'SIGKILL')
  }

  #whole(target: ProcessName | ApartName | ProcessIdentity): ProcessIdentity[] {
    const identity = typeof target === 'string' ? this.find(target) : target
    if (!identity || target !== 'postgres') return identity ? [identity] : []
    return [identity, ...findMarked(this.data.mark).filter(({ pid }) => parentOf(pid) === identity.pid)]
  }
}

/** Living processes whose command line holds the word; a program in a sandbox doesn't know its own pid outside of it. */
export const runningWith = (word: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && textOf(`/proc/${name}/cmdline`).includes(word))
    .map(Number)
    .filter((pid) => identify(pid) !== undefined)

/** Empty when it is gone or belongs to somebody else. */
export const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
