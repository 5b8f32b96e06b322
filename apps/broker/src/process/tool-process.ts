import { TokenFilter } from '#machine/output/token.redaction.js'
import type { Command, CommandEnd, RunningCommand } from '#machine/process/command.js'
import { carries, endTree, killTree } from '#machine/process/process-tree.js'
import { startCommand } from '#machine/process/start.command.js'
import type { SandboxPlan } from '#machine/sandbox/sandbox.plan.js'

/** A program of the node's; the token never stands in the output that is told. */
export type ToolCommand = Omit<Command, 'plan' | 'mark'>
export type ToolEnd = CommandEnd

/** Between SIGTERM and SIGKILL (ms). */
const killGrace = 2000
/** What hangs in the kernel longer than this is the host's to confirm (ms). */
const patience = 5000

const markName = 'SVC_BROKER_MARK'

/** Starts the node's programs as its plan lets them run, each with a mark below the broker's, so that it can be ended whole. */
export class ToolProcesses {
  /** Whether any program ran since the node was taken. */
  spawned = false
  #count = 0

  /** @param token what is taken out of all output: the node's own */
  constructor(
    private readonly mark: string,
    private readonly token: string,
    private readonly plan: SandboxPlan,
  ) {}

  /** @param plan a narrower one than the node's */
  start(command: ToolCommand, plan = this.plan): ToolProcess {
    this.spawned = true
    this.#count += 1
    return new ToolProcess(command, this.token, { name: markName, value: `${this.mark}/${this.#count}` }, plan)
  }

  /** Ends all programs that still live, those in the background too; resolves when they are gone. */
  async endAll(): Promise<void> {
    if (this.spawned) await endTree(this.#belongs(), killGrace, patience)
  }

  /** For when this process itself goes. */
  killAll(): void {
    if (this.spawned) killTree(this.#belongs())
  }

  #belongs() {
    const marked = carries(markName, this.mark)
    return (row: Parameters<typeof marked>[0]): boolean => row.parent === process.pid || marked(row)
  }
}

export class ToolProcess {
  readonly pid: number | undefined
  /** Resolves when the program has ended and its output was read. */
  readonly ended: Promise<ToolEnd>
  readonly #running: RunningCommand

  constructor(command: ToolCommand, token: string, mark: Command['mark'], plan: SandboxPlan) {
    const stdout = new HeardOutput(token, (chunk) => command.onStdout(chunk))
    const stderr = new HeardOutput(token, (chunk) => command.onStderr(chunk))
    this.#running = startCommand({
      ...command,
      mark,
      plan,
      onStdout: (chunk) => stdout.add(chunk),
      onStderr: (chunk) => stderr.add(chunk),
    })
    this.pid = this.#running.pid
    this.ended = this.#running.ended.then((end) => {
      stdout.close()
      stderr.close()
      return end
    })
  }

  write(text: string): void {
    this.#running.write(text)
  }

  closeInput(): void {
    this.#running.closeInput()
  }

  /** Ends the program with all that it started; resolves when that is gone. */
  kill(graceMs = killGrace): Promise<void> {
    return this.#running.kill(graceMs)
  }
}

class HeardOutput {
  readonly #filter: TokenFilter

  constructor(
    token: string,
    private readonly tell: (chunk: Buffer) => void,
  ) {
    this.#filter = new TokenFilter(token)
  }

  add(chunk: Buffer): void {
    this.#pass(this.#filter.push(chunk))
  }

  close(): void {
    this.#pass(this.#filter.rest())
  }

  #pass(chunk: Buffer): void {
    if (chunk.length) this.tell(chunk)
  }
}
