import { join } from 'node:path'
import type { Random } from '../random.js'

export const actionKinds = ['create_node', 'message', 'bash'] as const
export type ActionKind = (typeof actionKinds)[number]

/**
 * What a client does with a schedule around its slot: nothing; deletes it; pauses and resumes it; fires it by hand as
 * well. Whatever wins, the slot has one line, or of a deleted one none.
 */
export const fates = ['left', 'deleted', 'paused', 'run'] as const
export type Fate = (typeof fates)[number]

/** `far`: no slot of it comes while the run goes on. */
export type Course = 'once' | 'each_minute' | 'far'

/** A schedule that is to be armed, with what is known of it beforehand. */
export interface CronPlan {
  /** Names the schedule and all that comes of it. */
  readonly tag: string
  readonly kind: ActionKind
  readonly body: Record<string, unknown>
  readonly course: Course
  /** Its one slot, in ms after the beginning of the round. */
  readonly due: number
  /** Where its command or program appends a line each time that it runs. */
  readonly effects: string
  /** What the command or program exits with. */
  readonly exit: number
  readonly fate: Fate
  /** ms from the slot to what the client does. */
  readonly moment: number
}

export interface Scene {
  readonly directory: string
  /** A node that messages go to. */
  readonly listener: string
}

/** Says once that it ran, before and after its end could be cut off. */
const bashOf = (effects: string, pause: number, exit: number): string =>
  `t=$(cat /proc/sys/kernel/random/uuid); echo "$t" >> '${effects}'; sleep ${pause}; echo "$t"; exit ${exit}`

const programOf = (effects: string, pause: number, exit: number): string =>
  `echo "$SVC_NODE_ID" >> '${effects}'; sleep ${pause}; exit ${exit}`

const actionOf = (
  { tag, kind, effects, exit }: Pick<CronPlan, 'tag' | 'kind' | 'effects' | 'exit'>,
  { directory: cwd, listener }: Scene,
  random: Random,
): Record<string, unknown> => {
  const pause = random.between(0, 4) / 10
  switch (kind) {
    case 'create_node':
      return {
        type: 'create_node',
        name: tag,
        prompt: tag,
        cwd,
        engine: 'exec',
        lifecycle: 'terminal',
        exec: { argv: ['sh', '-c', programOf(effects, pause, exit)], stdin: 'text' },
      }
    case 'message':
      return { type: 'message', node_id: listener, body: tag, tier: random.pick(['deferred', 'normal']) }
    case 'bash':
      return { type: 'bash', cwd, command: bashOf(effects, pause, exit) }
  }
}

const policiesOf = (random: Random): Record<string, unknown> => ({
  missed: random.pick(['skip', 'once', 'all']),
  overlap: random.pick(['allow', 'skip', 'queue']),
  max_failures: 100,
})

const planOf = (
  tag: string,
  kind: ActionKind,
  schedule: Record<string, unknown>,
  more: Pick<CronPlan, 'course'> & Partial<Pick<CronPlan, 'due' | 'exit' | 'fate' | 'moment'>>,
  scene: Scene,
  random: Random,
): CronPlan => {
  const own = {
    tag,
    kind,
    effects: join(scene.directory, tag),
    due: 0,
    exit: 0,
    fate: 'left' as const,
    moment: 0,
    ...more,
  }
  const action = actionOf(own, scene, random)
  return { ...own, body: { name: tag, schedule, action, ...policiesOf(random) } }
}

/** What each round has, one schedule a line: those whose slots are spread, and those that are due at one moment. */
const spread: readonly ActionKind[] = [
  'create_node',
  'create_node',
  'message',
  'message',
  'message',
  'bash',
  'bash',
  'bash',
]
const together: readonly ActionKind[] = [
  'create_node',
  'create_node',
  'message',
  'message',
  'message',
  'message',
  'bash',
]

/** Fates of the schedules of a round, by turns among the kinds. */
const roundFates: readonly Fate[] = ['deleted', 'paused', 'run']

/** Schedules that fire once within a few seconds. @param began ms since the epoch */
export const roundPlans = (round: number, began: number, scene: Scene, random: Random): CronPlan[] => {
  const moment = random.between(1500, 3500)
  const dues = [
    ...random.shuffled(spread).map((kind) => ({ kind, due: random.between(1200, 3800) })),
    ...together.map((kind) => ({ kind, due: moment })),
  ]
  return dues.map(({ kind, due }, at) => {
    const plan = planOf(
      `c${round}-${at + 1}-${kind}`,
      kind,
      { at: new Date(began + due).toISOString() },
      {
        course: 'once',
        due,
        exit: random.between(1, 6) === 1 ? 3 : 0,
        fate: roundFates[at] ?? 'left',
        moment: random.between(-400, 400),
      },
      scene,
      random,
    )
    return random.between(1, 5) === 1 ? { ...plan, body: { ...plan.body, delete_after_run: true } } : plan
  })
}

/** Schedules of the whole run that fire each minute. */
export const minutePlans = (scene: Scene, random: Random): CronPlan[] =>
  actionKinds.flatMap((kind) =>
    [1, 2].map((at) =>
      planOf(`minute-${at}-${kind}`, kind, { cron: '* * * * *' }, { course: 'each_minute' }, scene, random),
    ),
  )

/** Schedules that stay armed for the whole run: their timers must survive everything. */
export const farPlans = (count: number, began: number, scene: Scene, random: Random): CronPlan[] =>
  Array.from({ length: count }, (_, at) => {
    const moment = began + (30 + at) * 86_400_000
    const schedule = at % 2 ? { every: 365 * 86_400 } : { at: new Date(moment).toISOString() }
    return planOf(`far-${at + 1}`, 'bash', schedule, { course: 'far' }, scene, random)
  })
