import { type ChildProcess, spawn } from 'node:child_process'
import { after } from '../clock.js'
import { endMarked, killNow, marked } from './process-tree.js'

export interface ToolCommand {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Whether its standard input can be written to; else it is empty. */
  readonly input: boolean
  onStdout(chunk: Buffer): void
  onStderr(chunk: Buffer): void
}

export interface ToolEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it could not be started. */
  readonly refusal: NodeJS.ErrnoException | null
}

/** Between SIGTERM and SIGKILL (ms). */
const killGrace = 2000
/** After a program's end its output may still be on its way, unless a child of it holds the pipe (ms). */
const drainLimit = 250

/** Starts the node's programs, each in a session of its own with a mark below the broker's, so that each can be ended whole. */
export class ToolProcesses {
  /** Whether any program ran since the node was taken. */
  spawned = false
  #count = 0

  constructor(private readonly mark: string) {}

  start(command: ToolCommand): ToolProcess {
    this.spawned = true
    this.#count += 1
    return new ToolProcess(command, `${this.mark}/${this.#count}`)
  }

  /** Ends all programs that still live, those in the background too; resolves when they are gone. */
  async endAll(): Promise<void> {
    if (this.spawned) await endMarked(this.mark, marked(this.mark).length ? killGrace : 0)
  }

  /** For when this process itself goes. */
  killAll(): void {
    if (this.spawned) killNow(this.mark)
  }
}

export class ToolProcess {
  readonly pid: number | undefined
  /** Resolves when the program has ended and its output was read, whatever it left in the background. */
  readonly ended: Promise<ToolEnd>
  readonly #child: ChildProcess

  constructor(
    command: ToolCommand,
    private readonly mark: string,
  ) {
    const [program, ...args] = command.argv
    this.#child = spawn(program, args, {
      cwd: command.cwd,
      env: { ...command.env, SVC_BROKER_MARK: mark },
      detached: true,
      stdio: [command.input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    })
    this.pid = this.#child.pid
    this.#child.stdout?.on('data', (chunk: Buffer) => command.onStdout(chunk))
    this.#child.stderr?.on('data', (chunk: Buffer) => command.onStderr(chunk))
    // A program may close its input, or end, while something is written to it: its own affair.
    this.#child.stdin?.on('error', () => undefined)
    this.ended = this.#watch()
  }

  write(text: string): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(text)
  }

  closeInput(): void {
    this.#child.stdin?.end()
  }

  /** Ends the program with all that it started; resolves when that is gone. */
  async kill(): Promise<void> {
    await endMarked(this.mark, killGrace)
  }

  /** What it left in the background may write on without being read, and doesn't fail for that. */
  #letGo(): void {
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.removeAllListeners('data').resume()
  }

  #watch(): Promise<ToolEnd> {
    return new Promise((resolve) => {
      this.#child.once('error', (refusal: NodeJS.ErrnoException) => {
        if (this.#child.pid === undefined) resolve({ code: null, signal: null, refusal })
      })
      this.#child.once('exit', (code, signal) => {
        const finish = (): void => {
          callOff()
          this.#letGo()
          resolve({ code, signal, refusal: null })
        }
        const callOff = after(drainLimit, finish)
        this.#child.once('close', finish)
      })
    })
  }
}
