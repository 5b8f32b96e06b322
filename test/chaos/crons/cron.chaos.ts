import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import { TestDaemon } from '../../support/daemon.js'
import { apart } from '../apart.js'
import { broken } from '../canvas.look.js'
import { Random } from '../random.js'
import { patience } from '../stage.js'
import { secondsSince, Tally } from '../tally.js'
import { type ArmedCron, CronHand } from './cron.cast.js'
import { type CronFault, textOfCronFault } from './cron.fault.js'
import { type FireLine, wasNeverBegun } from './cron.lines.js'
import { lookAtAnswers, lookAtCrons } from './cron.look.js'
import { farPlans, minutePlans, type Scene } from './cron.plan.js'
import { type CronRoundResult, type CronStage, restWithin, runCronRound } from './cron.round.js'
import { cronRestRules, cronRules } from './cron.rules.js'
import { CronTimers } from './cron.timers.js'

export interface CronChaosOptions {
  readonly seed: number
  /** Rounds, with one SIGKILL or more each. */
  readonly count: number
  /** The first round, to repeat one of a longer run. Default 1. */
  readonly from?: number
  readonly say: (line: string) => void
}

export interface CronChaosResult {
  readonly rounds: number
  readonly violations: string[]
  readonly summary: string
}

/** Schedules that stay armed from the beginning to the end. */
const farAway = 20

/** Round after round against one daemon; the seed decides schedules, faults and moments. */
export const runCronChaos = async (options: CronChaosOptions): Promise<CronChaosResult> => {
  const { seed, count, from = 1 } = options
  const began = performance.now()
  const tally = new CronTally(options)
  const daemon = await TestDaemon.prepare(apart('lifecycle', 'scheduler'))
  let timers: CronTimers | undefined
  try {
    await daemon.start()
    timers = new CronTimers(daemon)
    const stage = await set(daemon, timers, seed)
    for (let round = from; round < from + count; round += 1) {
      tally.begin()
      tally.add(round, await runCronRound(stage, round), daemon)
    }
    tally.end(await theEnd(stage, tally.crons))
  } finally {
    timers?.stop()
    await daemon.stop()
  }
  return tally.result(secondsSince(began))
}

/** What stands for the whole run. */
const set = async (daemon: TestDaemon, timers: CronTimers, seed: number): Promise<CronStage> => {
  const client = daemon.client({ ...patience })
  const directory = join(daemon.workDir, 'effects')
  mkdirSync(directory)
  const scene: Scene = { directory, listener: await listener(client, directory) }
  const random = new Random(seed, 0)
  const hand = new CronHand(client, `standing-${seed}`)
  const plans = [...minutePlans(scene, random), ...farPlans(farAway, systemClock.now(), scene, random)]
  const standing = await Promise.all(plans.map((plan) => hand.arm(plan)))
  return { daemon, client, timers, scene, seed, standing }
}

/** A program that is run anew for what it is sent. */
const listener = async (client: Client, cwd: string): Promise<string> => {
  const exec = { argv: ['cat'], stdin: 'text' as const }
  const { id } = await client.nodes.create({ name: 'listener', prompt: 'listen', cwd, engine: 'exec', exec })
  return id
}

/** Nothing fires any more: looks at all that was armed in the run, as it lies in the rows and as the API tells it. */
const theEnd = async (
  { daemon, client, timers, standing, seed }: CronStage,
  crons: readonly ArmedCron[],
): Promise<{ lines: FireLine[]; violations: string[] }> => {
  const hand = new CronHand(client, `end-${seed}`)
  for (const cron of standing.filter(({ plan }) => plan.course === 'each_minute')) await hand.pause(cron)
  const database = await daemon.database()
  try {
    const rest = await emptied('the rest of all schedules', () => broken(database, cronRestRules))
    const timed = await emptied('a timer of each schedule', () => timers.differences(database))
    const seen = await lookAtCrons(database, standing)
    const all = [...standing, ...crons]
    const told = await lookAtAnswers(client, database, all)
    const rules = await broken(database, cronRules)
    return { lines: seen.lines, violations: [...rest, ...timed, ...seen.violations, ...told, ...rules] }
  } finally {
    await database.close()
  }
}

/** What is left of what should pass. */
const emptied = async (what: string, look: () => Promise<string[]>): Promise<string[]> => {
  let left: string[] = []
  const none = async (): Promise<boolean> => {
    left = await look()
    return left.length === 0
  }
  return waitFor(none, { timeout: restWithin, interval: 250, what }).then(
    () => [],
    () => left.map((sentence) => `${what}: ${sentence}`),
  )
}

/** A firing is late from here on (ms). */
const lateFrom = 1000

/** What came of the rounds. */
class CronTally {
  readonly crons: ArmedCron[] = []
  readonly #lines: FireLine[] = []
  readonly #faults: CronFault[] = []
  readonly #tally: Tally

  constructor(private readonly options: CronChaosOptions) {
    const { say, seed } = options
    const again = (round: number) => `npm run chaos -- --target crons --seed ${seed} --from ${round} --count 1`
    this.#tally = new Tally({ say, again })
  }

  begin(): void {
    this.#tally.begin()
  }

  add(round: number, { faults, crons, lines, violations }: CronRoundResult, daemon: TestDaemon): void {
    this.crons.push(...crons)
    this.#faults.push(...faults)
    this.#lines.push(...lines)
    const what = faults.map(textOfCronFault).join(', then ')
    this.#tally.round(round, { what, figures: figuresOf(lines), violations }, daemon)
  }

  end({ lines, violations }: { lines: FireLine[]; violations: string[] }): void {
    this.#lines.push(...lines)
    this.#tally.end(`${figuresOf(lines)} of those that stood for the whole run`, violations)
  }

  result(took: string): CronChaosResult {
    const { rounds, violations } = this.#tally
    const kills = this.#faults.filter(({ way }) => way === 'kill').length
    const summary =
      `chaos crons: seed ${this.options.seed}, ${rounds} rounds, ${this.#faults.length} faults (${kills} SIGKILL), ` +
      `${took}: ${figuresOf(this.#lines)}; ${violations.length} violations`
    return { rounds, violations, summary }
  }
}

const figuresOf = (lines: readonly FireLine[]): string => {
  const lateness = lines.flatMap((line) => (line.fired && line.trigger === 'schedule' ? (line.lateness ?? []) : []))
  const late = lateness.filter((ms) => ms >= lateFrom).length
  const slots = lines.reduce((sum, line) => sum + line.slots, 0)
  const left = lines.filter(wasNeverBegun).reduce((sum, line) => sum + line.slots, 0)
  const counted = ['failed', 'unknown', 'canceled'].map(
    (status) => `${lines.filter((line) => line.status === status).length} ${status}`,
  )
  const most = Math.max(0, ...lateness)
  return `${slots} slots, ${left} left out, ${counted.join(', ')}, ${late} late, at most ${Math.round(most)} ms`
}
