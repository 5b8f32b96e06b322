import { parseArgs } from 'node:util'
import { runFuzz } from './fuzz.js'
import { whole } from './whole.option.js'

/** Sends malformed requests. Answers the exit code: 1 when one was not refused as the contract says. */
export const main = async (args: string[]): Promise<number> => {
  const { values } = parseArgs({
    args,
    options: {
      count: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
    },
  })
  const { violations, summary } = await runFuzz({
    count: whole(values.count, 'count'),
    seed: whole(values.seed, 'seed'),
    from: whole(values.from, 'from'),
    say: (line) => process.stdout.write(`${line}\n`),
  })
  process.stdout.write(`${summary}\n`)
  return violations.length ? 1 : 0
}
