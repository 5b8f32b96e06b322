import { parseArgs } from 'node:util'
import { whole } from '../fuzz/whole.option.js'
import { runChaos } from './chaos.js'
import { runConsumerProof } from './consumer/consumer.proof.js'
import { runCronChaos } from './crons/cron.chaos.js'
import { runObjectChaos } from './objects/object.chaos.js'

interface Outcome {
  readonly violations: readonly string[]
  readonly summary: string
}

interface Target {
  /** Its options, all of them whole numbers, with what they are unless they are given. */
  readonly options: Readonly<Record<string, string | undefined>>
  run(given: (option: string) => number, has: (option: string) => boolean): Promise<Outcome>
}

const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const begin = { seed: '1', from: '1' }

const targets: Readonly<Record<string, Target>> = {
  canvas: {
    options: { count: undefined, minutes: undefined, ...begin },
    run: (given, has) =>
      runChaos({
        count: has('count') ? given('count') : has('minutes') ? 100_000 : 100,
        ...(has('minutes') && { minutes: given('minutes') }),
        seed: given('seed'),
        from: given('from'),
        say,
      }),
  },
  crons: {
    options: { count: '200', ...begin },
    run: (given) => runCronChaos({ count: given('count'), seed: given('seed'), from: given('from'), say }),
  },
  objects: {
    options: { count: '200', ...begin },
    run: (given) => runObjectChaos({ count: given('count'), seed: given('seed'), from: given('from'), say }),
  },
  consumer: {
    options: { events: '100000', kills: '100', seed: '1' },
    run: (given) => runConsumerProof({ events: given('events'), kills: given('kills'), seed: given('seed'), say }),
  },
}

/** Kills everything by turns. Answers the exit code: 1 when something that must hold did not. */
export const main = async (args: string[]): Promise<number> => {
  const at = args.indexOf('--target')
  const [, name = ''] = at < 0 ? ['', 'canvas'] : args.splice(at, 2)
  const target = targets[name]
  if (!target) throw new Error(`--target is one of ${Object.keys(targets).join(', ')}, not ${name}`)
  const { values } = parseArgs({
    args,
    options: Object.fromEntries(Object.keys(target.options).map((option) => [option, { type: 'string' as const }])),
  })
  const text = (option: string): string | undefined => {
    const value = values[option] ?? target.options[option]
    return typeof value === 'string' ? value : undefined
  }
  const { violations, summary } = await target.run(
    (option) => whole(text(option) ?? '', option),
    (option) => text(option) !== undefined,
  )
  say(summary)
  return violations.length ? 1 : 0
}
