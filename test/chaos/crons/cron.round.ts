import { systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import type { TestDaemon } from '../../support/daemon.js'
import { broken } from '../canvas.look.js'
import { reached } from '../moment.js'
import { Random } from '../random.js'
import { type ArmedCron, CronHand } from './cron.cast.js'
import { type CronFault, carryOutCronFault, cronFaultsOf } from './cron.fault.js'
import type { FireLine } from './cron.lines.js'
import { lookAtCrons } from './cron.look.js'
import { roundPlans, type Scene } from './cron.plan.js'
import { cronRules } from './cron.rules.js'
import type { CronTimers } from './cron.timers.js'

/** ms that everything may take to come to rest once the faults are over. */
export const restWithin = 120_000

export interface CronStage {
  readonly daemon: TestDaemon
  readonly client: Client
  readonly timers: CronTimers
  readonly scene: Scene
  readonly seed: number
  /** Those of the whole run. */
  readonly standing: readonly ArmedCron[]
}

export interface CronRoundResult {
  readonly faults: readonly CronFault[]
  readonly crons: readonly ArmedCron[]
  readonly lines: readonly FireLine[]
  readonly violations: string[]
}

/** Schedules that come due within seconds, faults around their slots, the end of all of it, and a look at what must hold. */
export const runCronRound = async (stage: CronStage, round: number): Promise<CronRoundResult> => {
  const { daemon, client, timers, scene, seed, standing } = stage
  const began = systemClock.now()
  const random = new Random(seed, round)
  const plans = roundPlans(round, began, scene, random)
  const slots = plans.map(({ due }) => due)
  const faults = cronFaultsOf(round, slots, (cycle) => new Random(seed, -1 - cycle), random)
  const hand = new CronHand(client, `round-${seed}-${round}`)
  const crons: ArmedCron[] = []
  const lives = plans.map(async (plan) => {
    const cron = await hand.arm(plan)
    crons.push(cron)
    await hand.follow(cron, began)
  })
  const minutes = standing.filter(({ plan }) => plan.course === 'each_minute')
  const byHand = reached(began + random.pick(slots)).then(() => hand.run(random.pick(minutes)))
  const blows = faults.map((fault) => carryOutCronFault(daemon, timers, began, fault))
  const outcomes = await Promise.allSettled([...lives, byHand, ...blows])
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  const late = await atRest(
    daemon,
    crons.flatMap(({ id }) => id ?? []),
  )
  const database = await daemon.database()
  try {
    const { lines, violations } = await lookAtCrons(database, crons)
    return {
      faults,
      crons,
      lines,
      violations: [...failures, ...late, ...violations, ...(await broken(database, cronRules))],
    }
  } finally {
    await database.close()
  }
}

/** Resolves when nothing of these schedules is due or under way; says what is when that takes too long. */
const atRest = async (daemon: TestDaemon, ids: readonly string[]): Promise<string[]> => {
  let left: { text: string }[] = []
  const settled = async (): Promise<boolean> => {
    left = await daemon.rows<{ text: string }>(
      `SELECT name || ' is ' || status AS text FROM scheduler.crons WHERE id = ANY ($1) AND next_slot IS NOT NULL
       UNION ALL SELECT name || ' at ' || slot || ' is ' || status FROM scheduler.fires
        WHERE cron_id = ANY ($1) AND status IN ('queued', 'starting', 'running')`,
      [ids],
    )
    return left.length === 0
  }
  return waitFor(settled, { timeout: restWithin, interval: 100, what: 'the end of all firings' }).then(
    () => [],
    (error: unknown) => [`${error}; left: ${left.map(({ text }) => text).join('; ')}`],
  )
}
