import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestDaemon } from '../../support/daemon.js'
import { Random } from '../random.js'
import { patience } from '../stage.js'
import { secondsSince } from '../tally.js'
import { ConsumerLog } from './consumer.log.js'
import { Flow } from './flow.js'

export interface ConsumerProofOptions {
  readonly events: number
  /** How often the consumer is ended by SIGKILL. */
  readonly kills: number
  readonly seed: number
  readonly say: (line: string) => void
}

export interface ConsumerProofResult {
  readonly violations: string[]
  readonly kills: number
  readonly summary: string
}

/** ms without anything that was new, after which the consumer is given up. */
const stillAfter = 60_000
const queue = 'proof-queue'

/** Events flow while the process that receives them is killed again and again; what it noted itself is the proof. */
export const runConsumerProof = async (options: ConsumerProofOptions): Promise<ConsumerProofResult> => {
  const { events, kills, seed, say } = options
  const began = performance.now()
  const daemon = await TestDaemon.start()
  const random = new Random(seed, 0)
  const path = join(daemon.workDir, 'consumer.log')
  writeFileSync(path, '')
  const log = new ConsumerLog(path)
  try {
    const flow = await Flow.open(daemon, queue)
    const publishing = flow.publish(events, random, () => log.fresh)
    const consumer = new Consumer(daemon, path, log)
    let fresh = 0
    for (const length of livesOf(events, kills, random)) {
      fresh += length
      await Promise.race([consumer.live(fresh), publishing.then(() => new Promise<never>(() => undefined))])
      if (consumer.lives % 10 === 0) say(`✓ ${consumer.lives} lives, ${log.fresh} came, ${log.again} again`)
    }
    const { customObjects } = daemon.client(patience)
    const pending = async () => (await customObjects.retrieve(queue)).receiver_state?.pending
    await Promise.all([publishing, consumer.liveOn(events, pending)])
    const violations = log.violations.slice(0, 20)
    for (const sentence of violations) say(`✗ ${sentence}`)
    const summary =
      `chaos consumer: seed ${seed}, ${events} events, ${kills} SIGKILL, ${secondsSince(began)}: ${log.fresh} came in order, ` +
      `${log.again} of them again before they were known as acknowledged; ${log.violations.length} violations`
    return { violations, kills, summary }
  } finally {
    log.close()
    await daemon.stop()
  }
}

/** How many new deliveries each life sees: some none, since they end while they begin; the last tenth is for the survivor. */
const livesOf = (events: number, kills: number, random: Random): number[] => {
  const weights = Array.from({ length: kills }, () => (random.between(1, 8) === 1 ? 0 : random.next()))
  const sum = weights.reduce((total, weight) => total + weight, 0) || 1
  return weights.map((weight) => Math.floor((weight / sum) * events * 0.9))
}

/** The process that receives, one life after the other. */
class Consumer {
  lives = 0

  constructor(
    private readonly daemon: TestDaemon,
    private readonly path: string,
    private readonly log: ConsumerLog,
  ) {}

  /** Is killed as soon as so many deliveries have come over all lives. */
  async live(fresh: number): Promise<void> {
    const child = this.#start()
    const gone = once(child, 'exit')
    await this.#until(child, () => this.log.fresh >= fresh)
    child.kill('SIGKILL')
    await gone
  }

  /** Stays until all have come, and all are acknowledged: some by those who were killed before they heard of it. */
  async liveOn(events: number, pending: () => Promise<number | undefined>): Promise<void> {
    const child = this.#start()
    const gone = once(child, 'exit')
    await this.#until(child, () => this.log.fresh >= events)
    await waitFor(async () => (await pending()) === 0, { interval: 100, what: 'the end of what is pending' })
    child.kill('SIGTERM')
    await gone
    this.log.read()
  }

  #start(): ChildProcess {
    this.lives += 1
    const { baseUrl, token, env } = this.daemon
    return spawn(process.execPath, [join(projectRoot, 'test/chaos/consumer/consumer.process.mjs'), queue, this.path], {
      env: { PATH: env.PATH, SVC_BASE_URL: baseUrl, SVC_TOKEN: token },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  }

  /** @throws Error when it ends by itself, or nothing new has come for long */
  async #until(child: ChildProcess, reached: () => boolean): Promise<void> {
    let known = -1
    let since = performance.now()
    const there = (): boolean => {
      const noted = this.log.read().fresh + this.log.acked
      if (noted !== known) [known, since] = [noted, performance.now()]
      return reached() || child.exitCode !== null || performance.now() - since > stillAfter
    }
    await waitFor(there, { timeout: 3_600_000, interval: 2, what: 'deliveries' })
    if (child.exitCode !== null) throw new Error(`the consumer ended by itself with ${child.exitCode}`)
    if (!reached())
      throw new Error(`nothing new for ${stillAfter} ms: ${this.log.fresh} came, ${this.log.acked} acknowledged`)
  }
}
