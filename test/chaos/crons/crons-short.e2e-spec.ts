import { expect, it } from '@jest/globals'
import { runCronChaos } from './cron.chaos.js'

it('gives every slot one effect or one line that says why not while everything is killed around it', async () => {
  const { violations, rounds } = await runCronChaos({
    seed: 2,
    count: 3,
    say: (line) => process.stderr.write(`${line}\n`),
  })

  expect(violations).toEqual([])
  expect(rounds).toBe(3)
}, 400_000)
