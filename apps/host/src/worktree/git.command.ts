import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { type Clock, systemClock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import type { HostPlace } from '../host.place.js'
import type { GitHold, Writes } from './git.hold.js'

export interface GitOrder {
  readonly args: readonly string[]
  /** Variables besides those that keep git quiet. */
  readonly env?: Readonly<Record<string, string>>
  /** Ms; then git is killed with all that it started. */
  readonly timeoutMs?: number
  /** Bytes of output after which git is ended; 1 MiB unless given. */
  readonly outputBytes?: number
  /** What it writes, if it does. */
  readonly writes?: Writes
}

export interface GitEnd {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Whether the output was cut. */
  readonly truncated: boolean
  readonly timedOut: boolean
}

const usualTime = 20_000
const usualOutput = 1024 * 1024
const errorBytes = 16 * 1024

/**
 * Settings that win over any file's. Nothing that a repository names is started: no hook, no file system monitor, no
 * transport (and so no fetch of objects that a partial clone lacks), no pager, no maintenance.
 */
const settings = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.untrackedCache=false',
  'protocol.allow=never',
  'submodule.recurse=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting])

const quiet = {
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'false',
  SSH_ASKPASS: 'false',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'false',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
} as const

/**
 * Runs git for the host, as the account of the host: on repositories whose files an agent may have written. What makes
 * that safe stands in `docs/adr/0010-worktrees.md`.
 */
export class GitCommand {
  readonly #clock: Clock = systemClock

  constructor(
    private readonly place: Pick<HostPlace, 'hostId' | 'incarnation' | 'dataMark'>,
    private readonly hold: GitHold,
  ) {}

  /** @throws SvcError worktree_refused with reason git_missing. */
  run(order: GitOrder): Promise<GitEnd> {
    return this.program('git', [...settings, ...order.args], order)
  }

  /** Its output without the last line's end. @throws SvcError worktree_refused, internal when git failed. */
  async text(order: GitOrder): Promise<string> {
    const end = await this.run(order)
    if (end.code === 0) return end.stdout.replace(/\n$/, '')
    throw new SvcError('internal', `git ${order.args.join(' ')} failed: ${lastLine(end)}`)
  }

  /** Another program in the same way: ended in time, found again by the next start of this host. */
  async program(name: string, args: readonly string[], order: Omit<GitOrder, 'args'> = {}): Promise<GitEnd> {
    const { timeoutMs = usualTime, outputBytes = usualOutput } = order
    const held = await this.hold.around([name, ...args], order.writes)
    return new Promise((resolve, reject) => {
      const child = held.spawned(([program, ...rest], channels) =>
        spawn(program, rest, {
          cwd: '/',
          env: { ...this.#environment(), ...order.env },
          stdio: ['ignore', 'pipe', 'pipe', ...channels],
          detached: true,
        }),
      ) as ChildProcessByStdio<null, Readable, Readable>
      const out = new Collected(outputBytes)
      const err = new Collected(errorBytes)
      let timedOut = false
      const end = (): void => {
        if (child.pid !== undefined) killGroup(child.pid)
      }
      const callOff = this.#clock.after(timeoutMs, () => {
        timedOut = true
        end()
      })
      child.stdout.on('data', (chunk: Buffer) => !out.add(chunk) && end())
      child.stderr.on('data', (chunk: Buffer) => err.add(chunk))
      child.once('error', (error: NodeJS.ErrnoException) => {
        callOff()
        reject(error.code === 'ENOENT' ? missing(name) : error)
      })
      child.once('close', (code) => {
        callOff()
        resolve({ code, stdout: out.text, stderr: err.text, truncated: out.cut, timedOut })
      })
    })
  }

  #environment(): Record<string, string> {
    const { hostId, incarnation, dataMark } = this.place
    const kept = (['PATH', 'HOME', 'XDG_CONFIG_HOME', 'USER'] as const).flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value] as const]
    })
    const marks = { SVC_DATA_MARK: dataMark, SVC_BROKER_MARK: `${hostId}:${incarnation}:git` }
    return { ...Object.fromEntries(kept), ...quiet, ...marks }
  }
}

class Collected {
  readonly #chunks: Buffer[] = []
  #size = 0
  cut = false

  constructor(private readonly most: number) {}

  /** False when there is no more room. */
  add(chunk: Buffer): boolean {
    const room = this.most - this.#size
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
    this.#size += Math.min(chunk.length, room)
    this.cut ||= chunk.length > room
    return !this.cut
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const missing = (name: string): SvcError =>
  new SvcError('worktree_refused', `The program ${name} is not installed on the machine of the host.`, {
    reason: 'git_missing',
  })

/** What git said last, for people. */
export const lastLine = (end: GitEnd): string =>
  end.timedOut
    ? 'it took too long'
    : (end.stderr
        .trim()
        .split('\n')
        .findLast((line) => !line.startsWith('hint:'))
        ?.replace(/^(fatal|error): /, '')
        .slice(0, 500) ?? `it ended with ${end.code}`)
