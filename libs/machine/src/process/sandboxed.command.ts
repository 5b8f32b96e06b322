import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { monotonic, pause } from '../clock.js'
import { LastWords, sandboxRefusal } from '../sandbox/sandbox.refusal.js'
import { endOfCode, SandboxStatus } from '../sandbox/sandbox.status.js'
import { endOfChild, forgiveInput, writeTo } from './child.end.js'
import type { Command, CommandEnd, RunningCommand } from './command.js'
import { type ProcessRow, processOf, readProcesses, signalProcess } from './process-table.js'
import { lookAfter } from './process-tree.js'

/** Making a sandbox takes milliseconds; one that hangs in it is killed as it is (ms). */
const makingLimit = 5000

/**
 * A program in a sandbox of its own. The child is bubblewrap's monitor; its child is the init of the sandbox's pid
 * namespace, with which all that runs in it dies, wherever it went.
 */
export class SandboxedCommand implements RunningCommand {
  readonly pid: number | undefined
  readonly ended: Promise<CommandEnd>
  readonly #status = new SandboxStatus()
  readonly #words: LastWords
  #init: ProcessRow | undefined

  constructor(
    private readonly command: Command,
    private readonly child: ChildProcess,
    options: readonly string[],
  ) {
    this.pid = child.pid
    this.#words = new LastWords((chunk) => command.onStderr(chunk))
    child.stdout?.on('data', (chunk: Buffer) => command.onStdout(chunk))
    child.stderr?.on('data', (chunk: Buffer) => this.#words.add(chunk))
    forgiveInput(child)
    this.#tell(child.stdio[4] as Writable | null, options)
    this.#listen(child.stdio[3] as Readable | null)
    this.ended = this.#end()
  }

  write(text: string): void {
    writeTo(this.child, text)
  }

  closeInput(): void {
    this.child.stdin?.end()
  }

  async kill(graceMs: number): Promise<void> {
    if (this.pid === undefined) return
    await Promise.race([this.#status.known, this.ended, pause(makingLimit)])
    const deadline = monotonic() + graceMs
    let inside = graceMs > 0 ? this.#inside() : []
    for (const row of inside) signalProcess(row, 'SIGTERM')
    for (let look = 0; inside.length && monotonic() < deadline; look += 1) {
      await pause(Math.min(lookAfter(look), Math.max(1, deadline - monotonic())))
      inside = this.#inside()
    }
    if (this.#init) signalProcess(this.#init, 'SIGKILL')
    else this.child.kill('SIGKILL')
    await this.ended
    await this.#emptied()
  }

  #tell(channel: Writable | null, options: readonly string[]): void {
    // Bubblewrap may fail before it has read all: its own words say why.
    channel?.on('error', () => undefined)
    channel?.end(options.map((option) => `${option}\0`).join(''))
  }

  #listen(channel: Readable | null): void {
    channel?.on('error', () => undefined)
    channel?.on('data', (chunk: Buffer) => {
      this.#status.add(chunk)
      if (this.#status.init !== undefined) this.#init ??= processOf(this.#status.init)
    })
  }

  async #end(): Promise<CommandEnd> {
    const end = await endOfChild(this.child)
    if (end.refusal) return end
    const { code } = this.#status
    if (code === undefined && end.signal === null) {
      return { code: null, signal: null, refusal: sandboxRefusal(this.#words.text, this.command.cwd) }
    }
    this.#words.release()
    return code === undefined ? end : { ...endOfCode(code), refusal: null }
  }

  /** What runs in the sandbox besides its init: whatever lost its parent there is the init's child. */
  #inside(): ProcessRow[] {
    const { pid } = this.#init ?? {}
    if (pid === undefined) return []
    const all = readProcesses()
    const found = new Set([pid])
    for (let before = 0; before !== found.size; ) {
      before = found.size
      for (const row of all) if (found.has(row.parent)) found.add(row.pid)
    }
    return all.filter((row) => row.pid !== pid && found.has(row.pid))
  }

  /** The kernel lets a sandbox's init end only after all that ran there. */
  async #emptied(): Promise<void> {
    const init = this.#init
    if (!init) return
    for (let look = 0; processOf(init.pid)?.startTicks === init.startTicks; look += 1) await pause(lookAfter(look))
  }
}
