import type { MockModel } from '#common/testing/mock-model.js'
import type { TestDaemon } from '../support/daemon.js'
import { Random } from './random.js'
import { type Check, type Ledger, Stage, type Story } from './stage.js'
import { attachments, contexts, fork } from './stories/context.story.js'
import { cancel, family } from './stories/family.story.js'
import { revive, reviveAll } from './stories/revival.story.js'
import { recycle, relaunch } from './stories/succession.story.js'
import { orchestrator, question, waiting } from './stories/work.story.js'

const stories: Readonly<Record<string, Story>> = {
  family,
  cancel,
  contexts,
  fork,
  attachments,
  revive,
  reviveAll,
  recycle,
  relaunch,
  waiting,
  orchestrator,
  question,
}

/** Stories of one round: so many that four rounds have all of them. */
const atOnce = 3

/** Those of a round; as many rounds as it takes for all have each once, in an order of their own. */
export const storiesOf = (round: number, orderOf: (cycle: number) => Random): string[] => {
  const names = Object.keys(stories)
  const rounds = names.length / atOnce
  const cycle = Math.floor((round - 1) / rounds)
  const place = ((round - 1) % rounds) * atOnce
  return orderOf(cycle)
    .shuffled(names)
    .slice(place, place + atOnce)
}

export interface StoryRun {
  readonly daemon: TestDaemon
  readonly baseUrl: string
  readonly mock: MockModel
  readonly round: number
  readonly seed: number
  readonly directory: string
  readonly ledger: Ledger
}

/** Tells one story. What it says when all is at rest has the story's name before it. */
export const tell = async (name: string, { round, seed, ...run }: StoryRun): Promise<Check> => {
  const random = new Random(seed, round, Object.keys(stories).indexOf(name))
  const stage = new Stage({ ...run, random, tag: `r${round}-${name}` })
  const named = (sentence: string): string => `${stage.tag}: ${sentence}`
  try {
    const check = await (stories[name] as Story)(stage)
    return async () => (await check()).map(named)
  } catch (error) {
    return async () => [named(`it could not be told to its end: ${textOf(error)}`)]
  }
}

/** With the place in the story where it came from. */
const textOf = (error: unknown): string => {
  const { cause, stack = '' } = error as { cause?: unknown; stack?: string }
  const place = stack.split('\n').find((line) => line.includes('stor')) ?? ''
  return `${error}${cause === undefined ? '' : ` (${cause})`}${place && `, ${place.trim()}`}`
}
