import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { type ProcessRow, readProcesses, signalProcess } from '../../libs/machine/src/process/process-table.js'
import { carries } from '../../libs/machine/src/process/process-tree.js'
import type { SandboxPlan } from '../../libs/machine/src/sandbox/sandbox.plan.js'
import { BrokerRoutes, type PlayedNode } from './broker-routes.js'
import { testPlanOf } from './sandbox-plan.js'

const program = new URL('../../dist/broker.mjs', import.meta.url).pathname

/** Living processes that were started with this mark or one below it. */
const marked = (mark: string): ProcessRow[] => readProcesses().filter(carries('SVC_BROKER_MARK', mark))

/** A broker as its host starts it, with the test in the host's place. */
export class RunningBroker {
  readonly said: unknown[] = []
  readonly child: ChildProcess
  readonly mark: string
  static #count = 0

  constructor() {
    RunningBroker.#count += 1
    this.mark = `test:${process.pid}:${RunningBroker.#count}`
    this.child = fork(program, [], {
      env: { PATH: process.env.PATH, SVC_BROKER_MARK: this.mark },
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.child.on('message', (message) => this.said.push(message))
  }

  serve(node: PlayedNode, base_url: string, scratch_dir = '/nonexistent'): void {
    // As its host does: in a sandbox, wherever the machine that tests has one.
    void testPlanOf(node).then((plan) => this.#say(node, base_url, scratch_dir, plan))
  }

  #say(node: PlayedNode, base_url: string, scratch_dir: string, plan: SandboxPlan): void {
    this.child.send({
      type: 'serve',
      node_id: node.id,
      generation: node.generation,
      token: node.token,
      base_url,
      host_id: 'test',
      started_at: '2026-01-01T00:00:00.000Z',
      scratch_dir,
      plan,
    })
  }

  get gone(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  async kill(): Promise<void> {
    for (const row of marked(this.mark)) signalProcess(row, 'SIGKILL')
    if (this.gone) return
    const exit = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await exit
  }
}

/** The broker, the daemon and the working directory of the test that runs. */
export interface Stage {
  routes: BrokerRoutes
  broker: RunningBroker
  cwd: string
}

/** A daemon for the suite; a broker and a working directory for each of its tests. */
export const setStage = (): Stage => {
  const stage = {} as Stage
  beforeAll(async () => {
    stage.routes = await BrokerRoutes.start()
  })
  beforeEach(() => {
    stage.cwd = mkdtempSync(join(tmpdir(), 'svc-broker-'))
    stage.broker = new RunningBroker()
  })
  afterEach(async () => {
    stage.routes.refusal = undefined
    await stage.broker.kill()
    rmSync(stage.cwd, { recursive: true, force: true })
  })
  afterAll(() => stage.routes.stop())
  return stage
}

/** Gives the node its first mail and the stage's broker. */
export const work = (stage: Stage, node: PlayedNode, prompt = 'go'): PlayedNode => {
  node.post(prompt)
  stage.broker.serve(node, stage.routes.url, join(stage.cwd, '.scratch'))
  return node
}

/** Another process takes the node over, as after the loss of the one before. */
export const succeed = async (stage: Stage, node: PlayedNode): Promise<void> => {
  await stage.broker.kill()
  stage.broker = new RunningBroker()
  node.generation += 1
  stage.broker.serve(node, stage.routes.url)
}

/** The end of the node's last turn, once the daemon said that no more follows. */
export const ended = (node: PlayedNode) =>
  waitFor(() => node.ended && node.entries('turn_ended').at(-1), { what: 'the end of the turn' })

/** Whether nothing lives of the broker but itself. */
export const isAlone = ({ mark, child }: RunningBroker): boolean => marked(mark).every(({ pid }) => pid === child.pid)

export const liveOf = ({ mark }: RunningBroker): number => marked(mark).length

export const outputsOf = (node: PlayedNode): string[] => node.entries('tool_ended').map(({ output }) => output)
