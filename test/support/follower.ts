import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { waitFor } from '#common/testing/wait-for.js'

/** Where a command finds its daemon, and where it runs. */
export interface Reached {
  readonly env: NodeJS.ProcessEnv
  readonly baseUrl: string
  readonly workDir: string
}

/** The built command as somebody has it open: what it has printed so far. */
export class Follower {
  text = ''
  /** What it said on standard error. */
  notes = ''
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>

  constructor(daemon: Reached, args: readonly string[]) {
    this.#child = spawn(join(projectRoot, 'bin/svc'), args, {
      env: { ...daemon.env, SVC_BASE_URL: daemon.baseUrl },
      cwd: daemon.workDir,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    // its exit alone comes before the last of what it printed
    this.#closed = once(this.#child, 'close')
    this.#child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      this.text += piece
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      this.notes += piece
    })
  }

  /** What it printed with --json: one record a line. */
  records<T = Record<string, unknown>>(): T[] {
    const whole = this.text.slice(0, this.text.lastIndexOf('\n') + 1)
    return whole
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T)
  }

  /** Until it has printed this. */
  async shows(wanted: string | RegExp, timeout = 60_000): Promise<void> {
    const there = (): boolean => (typeof wanted === 'string' ? this.text.includes(wanted) : wanted.test(this.text))
    await waitFor(there, { timeout, what: `${wanted} on the screen` })
  }

  /** Its exit code, once it has ended by itself. */
  async ends(): Promise<number | null> {
    await this.#closed
    return this.#child.exitCode
  }

  leave(): void {
    this.#child.kill('SIGKILL')
  }
}
