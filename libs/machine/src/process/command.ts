import type { SandboxPlan } from '../sandbox/sandbox.plan.js'

/** A program to run for somebody. */
export interface Command {
  readonly argv: readonly [string, ...string[]]
  /** Absolute. */
  readonly cwd: string
  /** Its whole environment, besides what the plan sets. */
  readonly env: Readonly<Record<string, string>>
  /** Absent: as this process's own account sees the machine, which only the owner may ask for. */
  readonly plan?: SandboxPlan
  /** Stands in the environment of all that the program starts, so that it can be found: `SVC_JOB_MARK` and a value. */
  readonly mark: { readonly name: string; readonly value: string }
  /** Whether its standard input is written to; else it is empty. */
  readonly input: boolean
  onStdout(chunk: Buffer): void
  onStderr(chunk: Buffer): void
}

export interface CommandEnd {
  readonly code: number | null
  readonly signal: string | null
  /** Why it could not be started at all. */
  readonly refusal: NodeJS.ErrnoException | null
}

/** A program that was started, with all that it starts in turn. */
export interface RunningCommand {
  readonly pid: number | undefined
  /** Resolves when the program has ended and its output was read, whatever it left in the background. */
  readonly ended: Promise<CommandEnd>
  write(text: string): void
  closeInput(): void
  /** Ends the program with all that it started: SIGTERM, after `graceMs` SIGKILL; resolves when nothing of it lives. */
  kill(graceMs: number): Promise<void>
}
