import { expect, it } from '@jest/globals'
import { runFuzz } from './fuzz.js'

it('answers each malformed request as the contract says, and never fails of one', async () => {
  const { violations, requests } = await runFuzz({
    seed: 7,
    count: 300,
    say: (line) => process.stderr.write(`${line}\n`),
  })

  expect(violations).toEqual([])
  expect(requests).toBe(300)
})
