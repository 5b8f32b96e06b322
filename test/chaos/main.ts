import { parseArgs } from 'node:util'
import { runChaos } from './chaos.js'

const whole = (text: string, name: string): number => {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw new Error(`--${name} is a whole number from 1 up`)
}

/** Kills everything by turns. Answers the exit code: 1 when something that must hold did not. */
export const main = async (args: string[]): Promise<number> => {
  const { values } = parseArgs({
    args,
    options: {
      count: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '1' },
    },
  })
  const { violations, summary } = await runChaos({
    count: whole(values.count ?? (values.minutes === undefined ? '100' : '100000'), 'count'),
    ...(values.minutes !== undefined && { minutes: whole(values.minutes, 'minutes') }),
    seed: whole(values.seed, 'seed'),
    from: whole(values.from, 'from'),
    say: (line) => process.stdout.write(`${line}\n`),
  })
  process.stdout.write(`${summary}\n`)
  return violations.length ? 1 : 0
}
