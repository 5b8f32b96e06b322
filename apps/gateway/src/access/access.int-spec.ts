import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { openAdmin } from '#common/testing/admin-connection.js'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Answer, TestGateway } from '../testing/gateway.fixture.js'
import { WireLifecycle } from '../testing/wire-lifecycle.fixture.js'

let database: TestDatabase
let wire: WireLifecycle
let gateway: TestGateway
/** Another one on the same database, as beside a load balancer. */
let second: TestGateway

beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  database = await testDatabase()
  gateway = await TestGateway.start(url, database)
  second = await TestGateway.start(
    url,
    { ...database, drop: async () => undefined },
    { SVC_OWNER_TOKEN_FILE: join(gateway.settings.SVC_DATA_DIR, 'owner.token') },
  )
})

afterAll(async () => {
  await second?.stop()
  await gateway?.stop()
  await wire?.stop()
})

afterEach(async () => {
  await change({ listen: [], hosts: [], origins: [] })
})

const read = async () => (await gateway.ask({ path: '/v1/access' })).body
const change = (body: object, base = gateway.base): Promise<Answer> =>
  gateway.ask({ method: 'PATCH', path: '/v1/access', body, base })

/** Something else that listens at a port. */
const occupy = async (): Promise<{ server: Server; address: string }> => {
  const server = createServer().listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  return { server, address: `127.0.0.1:${(server.address() as { port: number }).port}` }
}

const leave = async ({ server }: { server: Server }): Promise<void> => {
  server.close()
  await once(server, 'close')
}

const freeAddress = async (): Promise<string> => {
  const taken = await occupy()
  await leave(taken)
  return taken.address
}

/** Whether the owner's API answers there. */
const answers = async (address: string): Promise<boolean> => {
  try {
    return (await gateway.ask({ path: '/v1/access', base: `http://${address}` })).status === 200
  } catch {
    return false
  }
}

const within = { timeout: 1500 }

describe('an address that the owner opens', () => {
  it('is served when the answer is there, and told with the others', async () => {
    const address = await freeAddress()
    const { status, body } = await change({ listen: [address, address] })
    expect([status, body.listen]).toEqual([200, [{ address, tls: false, state: 'open', detail: null }]])
    expect(body.base_urls).toEqual([gateway.base, `http://${address}`])
    expect(body.app_base_url).toBe(gateway.listeners.addresses.app)
    expect(await answers(address)).toBe(true)
  })

  it('is the owner’s alone: the routes of the other listener are refused there', async () => {
    const address = await freeAddress()
    await change({ listen: [address] })
    const { body } = await gateway.ask({ path: '/v1/health', base: `http://${address}`, token: undefined })
    expect(body.code).toBe('listener_forbidden')
  })

  it('changes nothing when it is asked for again', async () => {
    const address = await freeAddress()
    const { body } = await change({ listen: [address] })
    expect((await change({ listen: [address] })).body.version).toBe(body.version)
    expect((await change({})).body).toEqual(await read())
  })

  it('closes after the answer to its removal, also where that came by it', async () => {
    const address = await freeAddress()
    await change({ listen: [address] })
    const stream = await gateway.open({
      path: `/v1/nodes/${wire.create()}/events`,
      token: gateway.token,
      base: `http://${address}`,
      headers: { accept: 'text/event-stream' },
    })
    const ended = new Promise((resolve) => stream.resume().on('error', resolve).on('close', resolve))
    const { status, body } = await change({ listen: [] }, `http://${address}`)
    expect([status, body.listen]).toEqual([200, []])
    await expect(gateway.ask({ path: '/healthz', base: `http://${address}` })).rejects.toThrow('ECONNREFUSED')
    await ended
  })

  it('is opened by the next gateway when the one that had it goes', async () => {
    const address = await freeAddress()
    await change({ listen: [address] })
    const states = async () => (await second.ask({ path: '/v1/access', token: gateway.token })).body.listen
    await waitFor(async () => (await states())[0]?.detail === 'another program listens there', within)
    await gateway.running.close()
    await waitFor(async () => (await states())[0]?.state === 'open', within)
    await second.ask({ method: 'PATCH', path: '/v1/access', body: { listen: [] }, token: gateway.token })
    const settings = { ...gateway.settings }
    gateway = Object.assign(gateway, { running: await TestGateway.run(settings) })
  })
})

describe('an address that can’t be opened', () => {
  it('is refused with the reason, and nothing is stored or left open', async () => {
    const taken = await occupy()
    const free = await freeAddress()
    const before = await read()
    const { status, body } = await change({ listen: [free, taken.address], hosts: ['box.example'] })
    expect([status, body.code, body.address]).toEqual([422, 'address_unavailable', taken.address])
    expect(body.detail).toBe(`The daemon can't listen at ${taken.address}: another program listens there.`)
    expect(await read()).toEqual(before)
    expect(await answers(free)).toBe(false)
    await leave(taken)
  })

  it.each([
    ['203.0.113.77:7999', 'this machine has no such address'],
    ['nobody.invalid:7999', /nobody knows this name|names can not be looked up/],
  ])('%s: says why', async (address, why) => {
    const { body } = await change({ listen: [address] })
    expect([body.code, body.detail]).toEqual(['address_unavailable', expect.stringMatching(why)])
  })

  it.each(['127.0.0.1:0', '127.0.0.1:70000', '127.0.0.1', 'http://127.0.0.1:1', '127.0.0.1:1/x', ':1'])(
    '%s is no address',
    async (address) => {
      const { status, body } = await change({ listen: [address] })
      expect([status, body.code]).toEqual([422, 'validation_failed'])
    },
  )

  it('is closed again when what it is stored in can’t be written', async () => {
    const address = await freeAddress()
    const before = await read()
    const holder = await openAdmin(database.url)
    await holder.run('BEGIN; SELECT 1 FROM gateway.access FOR UPDATE')
    const { status } = await gateway.ask({
      method: 'PATCH',
      path: '/v1/access',
      body: { listen: [address] },
      headers: { 'svc-timeout-ms': '1000' },
    })
    await holder.close()
    expect(status).toBeGreaterThanOrEqual(500)
    expect(await answers(address)).toBe(false)
    expect(await read()).toEqual(before)
  })

  it('stops no gateway at its start, is told as failed, and opened when it is free', async () => {
    const address = await freeAddress()
    await change({ listen: [address] })
    await gateway.running.close()
    await second.running.close()
    const taken = createServer().listen(Number(address.split(':')[1]), '127.0.0.1')
    await once(taken, 'listening')
    gateway = Object.assign(gateway, { running: await TestGateway.run({ ...gateway.settings }) })
    expect((await read()).listen).toEqual([
      { address, tls: false, state: 'failed', detail: 'another program listens there' },
    ])
    const { body: status } = await gateway.ask({ path: '/v1/status' })
    expect(status.parts).toContainEqual({
      name: `listener ${address}`,
      state: 'degraded',
      detail: 'another program listens there',
      version: null,
    })
    await leave({ server: taken })
    await waitFor(() => answers(address), within)
    second = Object.assign(second, { running: await TestGateway.run({ ...second.settings }) })
  })
})

describe('names and origins', () => {
  // once taken up by a later look alone: the answer was there, and the page still called
  it('are taken up when the answer is there', async () => {
    const page = 'https://page.example'
    const asPage = async () => (await gateway.ask({ path: '/v1/access', headers: { origin: page } })).status
    for (let round = 0; round < 10; round += 1) {
      await change({ origins: [page] })
      expect(await asPage()).toBe(200)
      await change({ origins: [] })
      expect(await asPage()).toBe(403)
    }
  })

  it('are taken up by every gateway within a second, in one spelling', async () => {
    const { body } = await change({ hosts: ['Box.Example.', 'box.example'], origins: ['https://page.example'] })
    expect([body.hosts, body.origins]).toEqual([['box.example'], ['https://page.example']])
    const ask = (base: string, headers: Record<string, string>) =>
      gateway.ask({ path: '/healthz', base, headers, token: undefined })
    for (const base of [gateway.base, second.base]) {
      await waitFor(async () => (await ask(base, { host: 'box.example:7420' })).status === 200, within)
      await waitFor(async () => (await ask(base, { origin: 'https://page.example' })).status === 200, within)
    }
    await change({ hosts: [], origins: [] })
    for (const base of [gateway.base, second.base]) {
      await waitFor(async () => (await ask(base, { host: 'box.example:7420' })).status === 403, within)
      await waitFor(async () => (await ask(base, { origin: 'https://page.example' })).status === 403, within)
    }
  })

  it('are followed without a word of it too', async () => {
    await database.query(`UPDATE gateway.access SET hosts = '{silent.example}', version = version + 1`)
    const ask = () => gateway.ask({ path: '/healthz', headers: { host: 'silent.example' } })
    await waitFor(async () => (await ask()).status === 200, within)
  })

  it('that are left out stay, and two changes at once both hold', async () => {
    const { version } = await read()
    const changes = [change({ hosts: ['box.example'] }), change({ origins: ['https://page.example'] })]
    const other = second.ask({
      method: 'PATCH',
      path: '/v1/access',
      body: { listen: [] },
      token: gateway.token,
    })
    for (const { status } of await Promise.all([...changes, other])) expect(status).toBe(200)
    expect(await read()).toMatchObject({
      hosts: ['box.example'],
      origins: ['https://page.example'],
      version: version + 2,
    })
  })

  it.each([
    { hosts: ['*'] },
    { hosts: ['box.example:443'] },
    { hosts: ['https://box.example'] },
    { origins: ['*'] },
    { origins: ['null'] },
    { origins: ['https://*.example'] },
    { origins: ['https://page.example/'] },
    { origins: ['page.example'] },
  ])('%j is none', async (body) => {
    const answer = await change(body)
    expect([answer.status, answer.body.code]).toEqual([422, 'validation_failed'])
  })

  it('are the owner’s to name', async () => {
    const token = gateway.nodeToken(wire.create())
    const answer = await gateway.ask({ method: 'PATCH', path: '/v1/access', body: { hosts: ['x.example'] }, token })
    expect([answer.status, answer.body.code]).toEqual([403, 'owner_required'])
  })
})
