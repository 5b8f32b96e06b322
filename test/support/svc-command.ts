import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { unnamedCalls } from './command-calls.js'
import { WireServer } from './wire-server.js'

const built = join(process.cwd(), 'dist/svc.mjs')

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Given {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Buffer
}

/** The built command, with a daemon's wire to speak to and a data directory of its own, which is also where it runs. */
export class SvcCommand {
  readonly wire: WireServer
  readonly dataDir: string

  private constructor(wire: WireServer, dataDir: string) {
    this.wire = wire
    this.dataDir = dataDir
  }

  static async start(): Promise<SvcCommand> {
    if (!existsSync(built)) throw new Error('dist/svc.mjs is missing: npm run build')
    return new SvcCommand(await WireServer.start(), mkdtempSync(join(tmpdir(), 'svc-cli-')))
  }

  /** @throws Error when the command asked the daemon for an operation that it does not name */
  async run(args: readonly string[], { env = {}, input = '' }: Given = {}): Promise<Ran> {
    const before = this.wire.received.length
    const connection = { SVC_DATA_DIR: this.dataDir, SVC_BASE_URL: this.wire.url, SVC_TOKEN: 'svc_own_x' }
    const child = spawn(process.execPath, [built, ...args], {
      cwd: this.dataDir,
      env: { PATH: process.env.PATH, ...connection, ...env },
    })
    child.stdin.end(input)
    const exit = new Promise<number | null>((resolve) => child.on('close', resolve))
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exit])
    const unnamed = await unnamedCalls(args, this.wire.received.slice(before))
    if (unnamed.length) throw new Error(`svc ${args.join(' ')} calls ${unnamed.join(', ')}, which it does not name`)
    return { code, out, err }
  }

  async stop(): Promise<void> {
    rmSync(this.dataDir, { recursive: true, force: true })
    await this.wire.stop()
  }
}
