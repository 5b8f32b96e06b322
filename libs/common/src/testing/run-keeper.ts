import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { identify, type ProcessIdentity } from '../kernel/servers/process-identity.js'

/**
 * Clears away what a test run started, however the run ends: a small process of its own that holds a pipe from the run
 * and acts when the pipe closes, be it by an orderly end, Ctrl-C or SIGKILL.
 */
export class RunKeeper {
  private readonly child: ChildProcess

  constructor() {
    const script = fileURLToPath(new URL('./run-keeper.main.js', import.meta.url))
    this.child = spawn(process.execPath, [script], { stdio: ['pipe', 'inherit', 'inherit'], detached: true })
    // Writing to a keeper that was killed must not end the run.
    this.child.stdin?.on('error', () => undefined)
    this.child.unref()
  }

  /** Containers with this label `name=value` are removed. */
  removeContainers(label: string): void {
    this.write({ label })
  }

  /** This process, as it is now, is ended. */
  endProcess(pid: number): void {
    const identity = identify(pid)
    if (identity) this.write({ identity })
  }

  /** A data directory of private servers: the processes of its pid files are ended, then it is removed. */
  removeDataDirectory(path: string): void {
    this.write({ directory: path })
  }

  /** Clears away now; resolves when all of it is gone. */
  async close(): Promise<void> {
    if (this.child.exitCode !== null) return
    const gone = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.ref()
    this.child.stdin?.end()
    await gone
  }

  private write(entry: { label?: string; identity?: ProcessIdentity; directory?: string }): void {
    this.child.stdin?.write(`${JSON.stringify(entry)}\n`)
  }
}
