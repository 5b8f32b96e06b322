import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { after } from '../clock.js'
import { endTree, killNow } from './process-tree.js'
import { TokenFilter } from './token.redaction.js'

export interface ToolCommand {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Whether its standard input can be written to; else it is empty. */
  readonly input: boolean
  /** Output as it comes; the node's token never stands in it. */
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

  /** @param token what is taken out of all output: the node's own */
  constructor(
    private readonly mark: string,
    private readonly token: string,
  ) {}

  start(command: ToolCommand): ToolProcess {
    this.spawned = true
    this.#count += 1
    return new ToolProcess(command, `${this.mark}/${this.#count}`, this.token)
  }

  /** Ends all programs that still live, those in the background too; resolves when they are gone. */
  async endAll(): Promise<void> {
    if (this.spawned) await endTree(this.mark, killGrace)
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
  readonly #child: ChildProcess | undefined

  constructor(
    command: ToolCommand,
    private readonly mark: string,
    token: string,
  ) {
    const child = started(command, mark)
    if (child instanceof Error) {
      this.ended = Promise.resolve({ code: null, signal: null, refusal: child })
      return
    }
    this.#child = child
    this.pid = child.pid
    const outputs = [
      heard(child.stdout, token, (chunk) => command.onStdout(chunk)),
      heard(child.stderr, token, (chunk) => command.onStderr(chunk)),
    ]
    // A program may close its input, or end, while something is written to it: its own affair.
    child.stdin?.on('error', () => undefined)
    this.ended = endOf(child, () => {
      for (const finish of outputs) finish()
    })
  }

  write(text: string): void {
    if (this.#child?.stdin?.writable) this.#child.stdin.write(text)
  }

  closeInput(): void {
    this.#child?.stdin?.end()
  }

  /** Ends the program with all that it started; resolves when that is gone. */
  async kill(): Promise<void> {
    const { pid } = this
    if (pid !== undefined) await endTree(this.mark, killGrace, ({ session }) => session === pid)
  }
}

/** Some refusals of the system, a command line that is too long for one, are thrown instead of told later. */
const started = ({ argv, cwd, env, input }: ToolCommand, mark: string): ChildProcess | NodeJS.ErrnoException => {
  const [program, ...args] = argv
  try {
    return spawn(program, args, {
      cwd,
      env: { ...env, SVC_BROKER_MARK: mark },
      detached: true,
      stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    return error as NodeJS.ErrnoException
  }
}

/**
 * Answers what to call at the end. What the program left in the background may write on then without being read, and
 * doesn't fail for that.
 */
const heard = (stream: Readable | null, token: string, tell: (chunk: Buffer) => void): (() => void) => {
  const filter = new TokenFilter(token)
  const pass = (chunk: Buffer): void => {
    if (chunk.length) tell(chunk)
  }
  stream?.on('data', (chunk: Buffer) => pass(filter.push(chunk)))
  return () => {
    stream?.removeAllListeners('data').resume()
    pass(filter.rest())
  }
}

const endOf = (child: ChildProcess, onEnd: () => void): Promise<ToolEnd> =>
  new Promise((resolve) => {
    child.once('error', (refusal: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, refusal })
    })
    child.once('exit', (code, signal) => {
      let over = false
      const finish = (): void => {
        if (over) return
        over = true
        callOff()
        onEnd()
        resolve({ code, signal, refusal: null })
      }
      const callOff = after(drainLimit, finish)
      child.once('close', finish)
    })
  })
