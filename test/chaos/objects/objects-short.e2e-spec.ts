import { expect, it } from '@jest/globals'
import { runObjectChaos } from './object.chaos.js'

it('gives each accepted event to whoever watches, and nothing else, while everything is killed around it', async () => {
  const { violations, rounds } = await runObjectChaos({
    seed: 2,
    count: 3,
    say: (line) => process.stderr.write(`${line}\n`),
  })

  expect(violations).toEqual([])
  expect(rounds).toBe(3)
}, 400_000)
