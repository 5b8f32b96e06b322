import type { ChildProcess } from 'node:child_process'
import { endOfChild, forgiveInput, writeTo } from './child.end.js'
import type { Command, CommandEnd, RunningCommand } from './command.js'
import { carries, endTree } from './process-tree.js'

/** A program that was not started. */
export class RefusedCommand implements RunningCommand {
  readonly pid = undefined
  readonly ended: Promise<CommandEnd>

  constructor(refusal: NodeJS.ErrnoException) {
    this.ended = Promise.resolve({ code: null, signal: null, refusal })
  }

  write(): void {}
  closeInput(): void {}
  async kill(): Promise<void> {}
}

/** A program that runs as the machine is, for the owner or where no sandbox can be had. */
export class PlainCommand implements RunningCommand {
  readonly pid: number | undefined
  readonly ended: Promise<CommandEnd>

  constructor(
    private readonly command: Command,
    private readonly child: ChildProcess,
  ) {
    this.pid = child.pid
    child.stdout?.on('data', (chunk: Buffer) => command.onStdout(chunk))
    child.stderr?.on('data', (chunk: Buffer) => command.onStderr(chunk))
    forgiveInput(child)
    this.ended = endOfChild(child)
  }

  write(text: string): void {
    writeTo(this.child, text)
  }

  closeInput(): void {
    this.child.stdin?.end()
  }

  async kill(graceMs: number): Promise<void> {
    const { pid } = this
    if (pid === undefined) return
    const { name, value } = this.command.mark
    const marked = carries(name, value)
    await endTree((row) => row.session === pid || marked(row), graceMs)
    await this.ended
  }
}
