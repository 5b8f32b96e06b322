import { parseArgs } from 'node:util'
import { runFilesFuzz } from './files.fuzz.js'
import { whole } from './whole.option.js'

/** Attacks the confinement of files. Answers the exit code: 1 when it did not hold. */
export const main = async (args: string[], swapper: string): Promise<number> => {
  const { values } = parseArgs({
    args,
    options: { count: { type: 'string', default: '10000' }, seed: { type: 'string', default: '1' } },
  })
  const { escapes, hangs, failures, summary } = await runFilesFuzz({
    count: whole(values.count, 'count'),
    seed: whole(values.seed, 'seed'),
    swapper,
    say: (line) => process.stdout.write(`${line}\n`),
  })
  process.stdout.write(`${summary}\n`)
  return escapes.length || hangs.length || failures.length ? 1 : 0
}
