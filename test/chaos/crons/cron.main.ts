import { parseArgs } from 'node:util'
import { whole } from '../../fuzz/whole.option.js'
import { runCronChaos } from './cron.chaos.js'

/** Kills everything around firings of schedules. Answers the exit code: 1 when something that must hold did not. */
export const main = async (args: string[]): Promise<number> => {
  const { values } = parseArgs({
    args,
    options: {
      count: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
    },
  })
  const { violations, summary } = await runCronChaos({
    count: whole(values.count, 'count'),
    seed: whole(values.seed, 'seed'),
    from: whole(values.from, 'from'),
    say: (line) => process.stdout.write(`${line}\n`),
  })
  process.stdout.write(`${summary}\n`)
  return violations.length ? 1 : 0
}
