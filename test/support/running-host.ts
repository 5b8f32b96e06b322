import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '../../libs/common/src/contract/index.js'
import type { BrokerExit } from '../../libs/common/src/contract/internal.operations.js'
import { systemContext } from '../../libs/common/src/kernel/context.js'
import { joinBus, type TestPeer } from '../../libs/common/src/testing/bus.js'
import { natsUrlAs } from '../../libs/common/src/testing/nats.js'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { readProcesses } from '../../libs/machine/src/process/process-table.js'
import type { PlayedNode } from './broker-routes.js'

const projectRoot = new URL('../..', import.meta.url).pathname
const ctx = systemContext('test')

interface Hello {
  readonly incarnation: string
  readonly brokers: readonly { node_id: string; generation: number; pid: number }[]
  readonly live: number
  readonly warm: number
}

/** The host as it runs in production: its built program, in a process of its own. */
export class RunningHost {
  readonly hellos: Hello[] = []
  readonly exits: BrokerExit[] = []
  child!: ChildProcess
  peer!: TestPeer

  constructor(
    readonly dataDir: string,
    private readonly natsUrl: string,
    private readonly extra: Record<string, string> = {},
  ) {}

  async start(): Promise<void> {
    this.peer ??= await joinBus(this.natsUrl, 'lifecycle', {
      operations: [contract['lifecycle.host.hello'], contract['lifecycle.host.exited']],
      handlers: {
        'lifecycle.host.hello': async (_ctx, input) => {
          this.hellos.push(input as Hello)
          return { accepted: true }
        },
        'lifecycle.host.exited': async (_ctx, input) => {
          this.exits.push((input as { exit: BrokerExit }).exit)
          return { noted: true }
        },
      },
    })
    await this.startProcess()
  }

  async startProcess(): Promise<void> {
    const before = this.hellos.length
    this.child = spawn(process.execPath, [join(projectRoot, 'dist/apps/host/src/main.js')], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        NATS_URL: natsUrlAs(this.natsUrl, 'host'),
        SVC_DATA_DIR: this.dataDir,
        SVC_LOG_LEVEL: 'warn',
        OPENAI_API_KEY: 'sk-never-seen',
        ...this.extra,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    await waitFor(() => this.hellos.length > before, { what: 'the first hello' })
  }

  launch(node: PlayedNode, url: string, input: { generation?: number; pool_key?: string } = {}) {
    const generation = input.generation ?? node.generation
    const launch = {
      node_id: node.id,
      generation,
      token: `${node.id}.${generation}`,
      base_url: url,
      cwd: '/tmp',
      scopes: [],
      pool_key: input.pool_key ?? 'owner',
    }
    return this.peer.bus.call(contract['host.broker.launch'], ctx, launch, { target: 'local' })
  }

  halt(node: PlayedNode, generation = node.generation) {
    const stop = { node_id: node.id, generation, grace_ms: 300 }
    return this.peer.bus.call(contract['host.broker.stop'], ctx, stop, { target: 'local' })
  }

  report() {
    return this.peer.bus.call(contract['host.report'], ctx, {}, { target: 'local' })
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.kill(signal)
    await gone
  }

  async close(): Promise<void> {
    await this.kill('SIGTERM')
    await this.peer.close()
    rmSync(this.dataDir, { recursive: true, force: true })
  }
}

export const alive = (pid: number): boolean => readProcesses().some((row) => row.pid === pid)
/** Living processes whose command line holds the word. */
export const named = (word: string): number[] =>
  readProcesses().flatMap((row) => (readCommand(row.pid).includes(word) ? [row.pid] : []))
export const readCommand = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
