import { expect, it } from '@jest/globals'
import { routes } from '#common/contract/index.js'
import { runFuzz } from './fuzz.js'

const say = (line: string): boolean => process.stderr.write(`${line}\n`)

it('answers each malformed request as the contract says, and never fails of one', async () => {
  const { violations, requests } = await runFuzz({ seed: 7, count: 300, say })

  expect(violations).toEqual([])
  expect(requests).toBe(300)
})

it('answers such requests to every route, and says no secret in an answer or a log', async () => {
  const { violations, requests } = await runFuzz({ seed: 11, perRoute: 8, say })

  expect(violations).toEqual([])
  expect(requests).toBe(8 * routes.length)
})
