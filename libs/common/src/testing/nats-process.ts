import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A NATS server of one's own as a child process, for suites that kill, pause and restart the bus. */
export class NatsProcess {
  private constructor(
    private child: ChildProcess,
    private readonly port: number,
    private readonly config: string | undefined,
  ) {}

  /**
   * Starts `nats-server` of the PATH (or Debian's place) on a free loopback port and waits until it is ready.
   *
   * @param config text of a configuration file: users and their permissions, limits.
   * @throws Error when the program is missing or ends at once.
   */
  static async start(config?: string): Promise<NatsProcess> {
    const port = await freePort()
    return new NatsProcess(await launch(port, config), port, config)
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  /** Sends any signal: SIGKILL to lose it, SIGSTOP and SIGCONT to pause it. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  /** Ends it at once (SIGKILL), also when it is paused, and waits until it is gone. Idempotent. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    // It doesn't keep the process of a test alive, but its end is waited for: else a run with nothing left to do would
    // end right here, before its results are written.
    this.child.ref()
    this.child.kill('SIGKILL')
    await gone
  }

  /** Starts it again at the same address after `stop` or a kill. */
  async restart(): Promise<void> {
    await this.stop()
    this.child = await launch(this.port, this.config)
  }
}

async function launch(port: number, config = ''): Promise<ChildProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-nats-'))
  const file = join(directory, 'nats.conf')
  writeFileSync(file, config)
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }
  const child = spawn('nats-server', ['--addr', '127.0.0.1', '--port', String(port), '--config', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
  })
  await new Promise<void>((resolve, reject) => {
    let log = ''
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`nats-server ended (${code}): ${log}`)))
    child.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4000)
      if (log.includes('Server is ready')) resolve()
    })
  }).finally(() => rmSync(directory, { recursive: true }))
  child.stderr?.removeAllListeners('data').resume()
  child.unref()
  ;(child.stderr as { unref?: () => void } | null)?.unref?.()
  return child
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (!address || typeof address === 'string') throw new Error('no port was given')
  return address.port
}
