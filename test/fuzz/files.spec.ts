import { expect, it } from '@jest/globals'
import { runFilesFuzz } from './files.fuzz.js'

const swapper = new URL('files.swapper.mjs', import.meta.url).pathname

it('reaches nothing outside by any path, whatever is swapped meanwhile, and never waits', async () => {
  const { escapes, hangs, failures, tries } = await runFilesFuzz({
    seed: 11,
    count: 1000,
    swapper,
    say: (line) => process.stderr.write(`${line}\n`),
  })

  expect({ escapes, hangs, failures }).toEqual({ escapes: [], hangs: [], failures: [] })
  expect(tries).toBe(1000)
})
