import { parseArgs } from 'node:util'
import { runFuzz } from './fuzz.js'
import { whole } from './whole.option.js'

/** Sends malformed requests. Answers the exit code: 1 when one was not refused as the contract says. */
export const main = async (args: string[]): Promise<number> => {
  const { values } = parseArgs({
    args,
    options: {
      count: { type: 'string' },
      'per-route': { type: 'string' },
      only: { type: 'string' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
    },
  })
  const { count, only, 'per-route': perRoute } = values
  const { violations, summary } = await runFuzz({
    ...(count !== undefined && { count: whole(count, 'count') }),
    ...(perRoute !== undefined && { perRoute: whole(perRoute, 'per-route') }),
    ...(only !== undefined && { only }),
    seed: whole(values.seed, 'seed'),
    from: whole(values.from, 'from'),
    say: (line) => process.stdout.write(`${line}\n`),
  })
  for (const violation of violations.slice(-20)) process.stdout.write(`✗ ${violation}\n`)
  process.stdout.write(`${summary}\n`)
  return violations.length ? 1 : 0
}
