import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { TestGateway } from '../testing/gateway.fixture.js'
import { KeptKeys } from './kept-keys.js'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await TestGateway.start(testNats().url, await testDatabase())
})
afterAll(() => gateway.stop())

it('first answers are forgotten after a day, and no earlier', async () => {
  for (const key of ['old', 'young']) {
    const headers = { 'idempotency-key': key }
    await gateway.ask({ method: 'POST', path: '/v1/apps', body: { name: key }, headers })
  }
  await gateway.database.query("UPDATE gateway.idempotency SET expires_at = now() WHERE key = 'old'")
  expect(await gateway.running.app.get(KeptKeys, { strict: false }).forget()).toBe(1)
  expect(await gateway.database.query('SELECT key FROM gateway.idempotency')).toEqual([{ key: 'young' }])
})
