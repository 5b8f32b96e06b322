import { expect, it } from '@jest/globals'
import { runConsumerProof } from './consumer.proof.js'

it('gives a consumer that is killed at random each event, in order, and none that it acknowledged', async () => {
  const { violations, kills } = await runConsumerProof({
    events: 2000,
    kills: 6,
    seed: 3,
    say: (line) => process.stderr.write(`${line}\n`),
  })

  expect(violations).toEqual([])
  expect(kills).toBe(6)
}, 400_000)
