import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { Client } from '#sdk/index.js'
import { type CommandEnd, run } from './command.js'
import { cleanEnvironment, freePorts } from './daemon.js'

/** The services of docker-compose.yml under a project name, ports and volumes of their own. */
export class ComposeDaemon {
  readonly project = `svc-e2e-${process.pid}`
  /** Mounted into the containers of nodes at the same path. */
  readonly workDir = realpathSync(mkdtempSync(join(tmpdir(), 'svc-compose-')))
  readonly #env: NodeJS.ProcessEnv

  private constructor(
    readonly baseUrl: string,
    port: number,
    appPort: number,
  ) {
    // Nodes are another account there.
    chmodSync(this.workDir, 0o777)
    this.#env = {
      ...cleanEnvironment(),
      SVC_IMAGE_TAG: 'e2e',
      SVC_PORT: String(port),
      SVC_APP_PORT: String(appPort),
      SVC_PUBLIC_URL: baseUrl,
      SVC_WORK_DIR: this.workDir,
    }
    // Also when the test run is interrupted: containers outlive it by themselves.
    process.once('exit', () => this.#removeNow())
  }

  static async prepare(): Promise<ComposeDaemon> {
    const [port, appPort] = await freePorts()
    return new ComposeDaemon(`http://127.0.0.1:${port}`, port, appPort)
  }

  /** `docker compose …` of this project. */
  compose(...args: string[]): Promise<CommandEnd> {
    return this.docker('compose', '--project-name', this.project, ...args)
  }

  docker(...args: string[]): Promise<CommandEnd> {
    return run('docker', args, { cwd: projectRoot, env: this.#env })
  }

  /** As docs/operations.md tells a person to read it. */
  async token(): Promise<string> {
    const { stdout } = await this.compose('exec', '-T', 'gateway', 'cat', '/owner/owner.token')
    return stdout.trim()
  }

  /** With the owner's token unless another is given. */
  async client(token?: string): Promise<Client> {
    return new Client({ baseUrl: this.baseUrl, token: token ?? (await this.token()), maxRetries: 20 })
  }

  /** A model beside the services, at the name `mock`, that answers everything by way of `command`. */
  async startModel(command: string): Promise<void> {
    const place = ['--network', `${this.project}_outside`, '--network-alias', 'mock', '--name', `${this.project}-mock`]
    const script = 'test/support/mock-model.container.mjs'
    const mounts = ['node_modules', script].flatMap((path) => [
      '--volume',
      `${join(projectRoot, path)}:/mock/${path}:ro`,
    ])
    const program = ['node:24-bookworm-slim', 'node', `/mock/${script}`, command]
    const end = await this.docker('run', '--detach', '--rm', '--init', ...place, ...mounts, ...program)
    if (end.code !== 0) throw new Error(end.stderr)
  }

  /** How often the engine started the container of a service again. */
  async restarts(name: string): Promise<number> {
    const container = (await this.compose('ps', '--all', '--quiet', name)).stdout.trim()
    return Number((await this.docker('inspect', '--format', '{{.RestartCount}}', container)).stdout)
  }

  async stop(): Promise<void> {
    await this.docker('rm', '--force', `${this.project}-mock`)
    await this.compose('down', '--volumes', '--timeout', '5')
    rmSync(this.workDir, { recursive: true, force: true })
  }

  #removeNow(): void {
    const options = { cwd: projectRoot, env: this.#env, stdio: 'ignore' as const }
    spawnSync('docker', ['rm', '--force', `${this.project}-mock`], options)
    spawnSync('docker', ['compose', '--project-name', this.project, 'down', '--volumes', '--timeout', '1'], options)
  }
}
