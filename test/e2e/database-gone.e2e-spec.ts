import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestDaemon } from '../support/daemon.js'
import { TcpProxy } from '../support/tcp-proxy.js'

let database: TestDatabase
let proxy: TcpProxy
let daemon: TestDaemon

beforeAll(async () => {
  database = await testDatabase()
  proxy = await TcpProxy.before(database.url)
  daemon = await TestDaemon.start({ env: { DATABASE_URL: proxy.through(database.url) } })
})
afterAll(async () => {
  await daemon.stop()
  await proxy.close()
  await database.drop()
})

const program = () => ({
  prompt: 'go',
  cwd: daemon.workDir,
  engine: 'exec',
  lifecycle: 'terminal' as const,
  exec: { argv: ['echo', 'here again'] },
})

describe('a daemon whose database is gone', () => {
  it('answers 503 with the documented code, lives on, and serves again by itself when it is back', async () => {
    const client = daemon.client({ maxRetries: 0 })
    const before = await client.nodes.createAndWait(program())
    await proxy.close()

    await expect(client.nodes.create(program())).rejects.toMatchObject({ code: 'service_unavailable', status: 503 })
    await expect(client.nodes.retrieve(before.node_id)).rejects.toMatchObject({
      code: 'service_unavailable',
      status: 503,
      retryable: true,
    })
    expect(await client.system.health()).toMatchObject({ status: 'ok' })
    await waitFor(async () => (await client.system.status()).parts.some(({ state }) => state !== 'ready'), {
      what: 'a status that says what is missing',
    })

    await proxy.open()
    const after = await waitFor(() => client.nodes.createAndWait(program()), { timeout: 30_000, what: 'service' })

    expect(after).toMatchObject({ status: 'done', final_report: { body: 'here again' } })
    expect(await database.query('SELECT count(*)::int AS nodes FROM canvas.nodes')).toEqual([{ nodes: 2 }])
  })

  it('finishes a node that was at work meanwhile', async () => {
    const client = daemon.client()
    const { id } = await client.nodes.create({
      ...program(),
      exec: { argv: ['sh', '-c', 'until [ -e end ]; do sleep 0.02; done; echo through all of it'] },
    })
    await waitFor(async () => (await client.nodes.retrieve(id)).broker, { what: 'a broker' })
    await proxy.close()
    await expect(daemon.client({ maxRetries: 0 }).nodes.retrieve(id)).rejects.toMatchObject({ status: 503 })
    writeFileSync(`${daemon.workDir}/end`, '')
    await proxy.open()

    const outcome = await client.nodes.waitForOutcome(id, { timeout: 45_000 })

    expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'through all of it' } })
  })
})
