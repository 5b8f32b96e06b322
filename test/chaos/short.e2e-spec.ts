import { expect, it } from '@jest/globals'
import { runChaos } from './chaos.js'

it('holds what it promises while everything is killed by turns', async () => {
  const { violations, rounds } = await runChaos({
    seed: 7,
    count: 6,
    say: (line) => process.stderr.write(`${line}\n`),
  })

  expect(violations).toEqual([])
  expect(rounds).toBe(6)
}, 400_000)
