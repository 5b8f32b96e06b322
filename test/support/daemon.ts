import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readDaemonFile } from '#apps/daemon/src/daemon-file.js'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { type DataDirectory, openDataDirectory } from '#common/kernel/servers/data-directory.js'
import { type AdminConnection, openAdmin } from '#common/testing/admin-connection.js'
import type { MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import { Client, type ClientOptions } from '#sdk/index.js'
import { DaemonProcesses, textOf } from './daemon-processes.js'

export interface TestDaemonOptions {
  /** Settings besides the directory and the addresses. */
  env?: Record<string, string>
  /** A directory that exists, instead of a new one; removed with the daemon. */
  dataDir?: string
  /** What serves, below the project; the built daemon unless given. */
  main?: string
}

const builtDaemon = 'dist/apps/daemon/src/main.js'

/** A whole embedded daemon as people start it, built, in a directory and on ports of its own. */
export class TestDaemon {
  readonly processes: DaemonProcesses
  /** For the files that nodes work on; removed with the daemon. */
  readonly workDir = realpathSync(mkdtempSync(join(tmpdir(), 'svc-e2e-work-')))
  readonly #keeper: ChildProcess

  private constructor(
    readonly data: DataDirectory,
    readonly baseUrl: string,
    readonly appUrl: string,
    /** What the daemon and the command are started with. */
    readonly env: NodeJS.ProcessEnv,
    private readonly main: string,
  ) {
    this.processes = new DaemonProcesses(data)
    this.#keeper = spawn(process.execPath, ['test/support/daemon-keeper.mjs', data.path, this.workDir], {
      cwd: projectRoot,
      stdio: ['pipe', 'inherit', 'inherit'],
      detached: true,
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    this.#keeper.unref()
  }

  /** Resolves when it is ready. */
  static async start(options: TestDaemonOptions = {}): Promise<TestDaemon> {
    const daemon = await TestDaemon.prepare(options)
    try {
      await daemon.start()
      return daemon
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  /** One that isn't started yet. */
  static async prepare({ env = {}, dataDir, main = builtDaemon }: TestDaemonOptions = {}): Promise<TestDaemon> {
    const data = openDataDirectory(dataDir ?? mkdtempSync(join(tmpdir(), 'svc-e2e-')))
    const [owner, app] = await freePorts()
    const settings = {
      ...cleanEnvironment(),
      SVC_DATA_DIR: data.path,
      SVC_OWNER_LISTEN: `127.0.0.1:${owner}`,
      SVC_APP_LISTEN: `127.0.0.1:${app}`,
      SVC_INSTALL_PACKAGES: 'never',
      ...env,
    }
    return new TestDaemon(data, `http://127.0.0.1:${owner}`, `http://127.0.0.1:${app}`, settings, main)
  }

  get token(): string {
    return readFileSync(join(this.data.path, 'owner.token'), 'utf8').trim()
  }

  /** The owner's, unless another token is given. */
  client(options: ClientOptions = {}): Client {
    return new Client({ baseUrl: this.baseUrl, token: this.token, ...options })
  }

  /** @throws Error with the end of its output when it ends before it is ready. */
  async start(): Promise<void> {
    const out = openSync(join(this.data.log, 'daemon.out'), 'a')
    const child = spawn(process.execPath, [join(projectRoot, this.main), '--foreground'], {
      cwd: '/',
      detached: true,
      stdio: ['ignore', out, out],
      env: this.env,
    })
    closeSync(out)
    child.unref()
    const ready = (): boolean => readDaemonFile(this.data)?.pid === child.pid
    await waitFor(() => ready() || child.exitCode !== null || child.signalCode !== null, {
      timeout: 60_000,
      what: 'a ready daemon',
    })
    if (!ready()) throw new Error(`the daemon ended: ${textOf(join(this.data.log, 'daemon.out')).slice(-4000)}`)
  }

  /** Starts it again after a kill, once the kernel has taken the killed process away: until then it holds the directory. */
  async startAgain(): Promise<void> {
    await waitFor(() => !this.processes.find('daemon'), { what: 'the end of the killed daemon' })
    await this.start()
  }

  /** Gives strength medium to the mock, as a provider without a key. */
  async useModel(mock: MockModel): Promise<void> {
    await this.client().models.config.update({
      providers: { mock: { type: 'openai-compatible', base_url: mock.baseUrl('openai-compatible') } },
      ladders: { medium: ['mock/m-1'] },
    })
  }

  /** Looks at the rows, past the product. */
  async rows<T = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<T[]> {
    const connection = await this.database()
    try {
      return await connection.rows<T>(sql, values)
    } finally {
      await connection.close()
    }
  }

  database(): Promise<AdminConnection> {
    const password = readFileSync(join(this.data.secrets, 'postgres.password'), 'utf8').trim()
    const host = encodeURIComponent(join(this.data.sockets, 'postgres'))
    return openAdmin(`postgresql://svc:${password}@localhost/postgres?host=${host}`)
  }

  /** Ends every process of it, stopped ones too, and removes its directories. */
  async stop(): Promise<void> {
    if (this.#keeper.exitCode !== null) return
    this.#keeper.ref()
    const gone = once(this.#keeper, 'exit')
    this.#keeper.stdin?.end()
    const [code] = await gone
    if (code !== 0) throw new Error(`processes of ${this.data.path} were left behind`)
  }
}

/** Without what belongs to the test run, or to a daemon that the tests are run from. */
export const cleanEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SVC_|DATABASE_URL|NATS_URL|REDIS_URL|NODE_OPTIONS)/.test(name)),
  )

/** Two that nobody listens on; they are given back just before the daemon takes them. */
export const freePorts = async (): Promise<[number, number]> => {
  const servers = [createServer(), createServer()]
  const ports = await Promise.all(
    servers.map(async (server) => {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      return (server.address() as { port: number }).port
    }),
  )
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports as [number, number]
}
