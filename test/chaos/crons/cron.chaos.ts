import { cpSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import { TestDaemon } from '../../support/daemon.js'
import { broken } from '../canvas.look.js'
import { Random } from '../random.js'
import { patience } from '../stage.js'
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
  const tally = new Tally(options)
  const daemon = await TestDaemon.prepare({ main: 'test/chaos/crons/apart.daemon.mjs' })
  let timers: CronTimers | undefined
  try {
    await daemon.start()
    timers = new CronTimers(daemon)
    const stage = await set(daemon, timers, seed)
    for (let round = from; round < from + count; round += 1) {
      const started = performance.now()
      tally.add(round, await runCronRound(stage, round), secondsSince(started), daemon)
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

/** Tells of each round as it ends. What breaks a rule for good breaks it in every later round, too: it counts once. */
class Tally {
  readonly crons: ArmedCron[] = []
  readonly #lines: FireLine[] = []
  readonly #faults: CronFault[] = []
  readonly #violations = new Set<string>()
  #rounds = 0

  constructor(private readonly options: CronChaosOptions) {}

  add(round: number, result: CronRoundResult, took: string, { data }: TestDaemon): void {
    const { say, seed } = this.options
    const fresh = this.#fresh(result.violations)
    this.#rounds += 1
    this.crons.push(...result.crons)
    this.#faults.push(...result.faults)
    this.#lines.push(...result.lines)
    const what = result.faults.map(textOfCronFault).join(', then ')
    say(`${fresh.length ? '✗' : '✓'} round ${round}: ${what} (${took}, ${figuresOf(result.lines)})`)
    if (!fresh.length) return
    for (const sentence of fresh) say(`    ${sentence}`)
    say(`    again: npm run chaos -- --target crons --seed ${seed} --from ${round} --count 1`)
    const logs = mkdtempSync(join(tmpdir(), 'svc-chaos-log-'))
    cpSync(data.log, logs, { recursive: true })
    say(`    its logs: ${logs}`)
  }

  end({ lines, violations }: { lines: FireLine[]; violations: string[] }): void {
    const fresh = this.#fresh(violations)
    this.#lines.push(...lines)
    this.options.say(`${fresh.length ? '✗' : '✓'} the end: ${figuresOf(lines)} of those that stood for the whole run`)
    for (const sentence of fresh) this.options.say(`    ${sentence}`)
  }

  result(took: string): CronChaosResult {
    const violations = [...this.#violations]
    const kills = this.#faults.filter(({ way }) => way === 'kill').length
    const summary =
      `chaos crons: seed ${this.options.seed}, ${this.#rounds} rounds, ${this.#faults.length} faults (${kills} SIGKILL), ` +
      `${took}: ${figuresOf(this.#lines)}; ${violations.length} violations`
    return { rounds: this.#rounds, violations, summary }
  }

  #fresh(violations: readonly string[]): string[] {
    const fresh = violations.filter((sentence) => !this.#violations.has(sentence))
    for (const sentence of fresh) this.#violations.add(sentence)
    return fresh
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

const secondsSince = (moment: number): string => `${((performance.now() - moment) / 1000).toFixed(1)} s`
