import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { silent } from '#common/testing/canvas-database.js'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { Lease } from './lease.js'

let store: TestDatabase
const held: Lease[] = []
beforeAll(async () => {
  store = await testDatabase()
})
afterEach(async () => {
  await Promise.all(held.splice(0).map((lease) => lease.release()))
})
afterAll(() => store.drop())

const candidate = (holder: string, more: { ttl?: number; renewEvery?: number } = {}) => {
  const lost: string[] = []
  const lease = new Lease({
    url: store.urlFor('lifecycle'),
    holder,
    log: silent,
    onLost: () => void lost.push(holder),
    ...more,
  })
  held.push(lease)
  return { lease, lost }
}

/** Of a lease that does not run out while the machine is slow. */
const long = 120_000
const soon = () => AbortSignal.timeout(20_000)

describe('the lease of the canvas', () => {
  it('gives a higher epoch at each change of hands', async () => {
    const first = await candidate('a').lease.acquire()
    await held[0]?.release()
    const second = await candidate('b').lease.acquire()
    expect(second).toBe((first as number) + 1)
  })

  it('is taken over at once by the same holder, and the older one is told', async () => {
    const older = candidate('a', { ttl: long, renewEvery: 20 })
    await older.lease.acquire()
    const newer = candidate('a')
    expect(await newer.lease.acquire(soon())).toBeDefined()
    await waitFor(() => older.lost.length === 1)
    expect([older.lease.epoch, newer.lost]).toEqual([undefined, []])
  })

  // Two processes that were given one name took the lease from each other once a second, and neither could work.
  it('stays with the newer of two processes of one name: the older one waits like any other', async () => {
    const older = candidate('a', { renewEvery: 20 })
    await older.lease.acquire()
    const newer = candidate('a', { ttl: long, renewEvery: 20 })
    await newer.lease.acquire()
    await waitFor(() => older.lost.length === 1)
    expect(await older.lease.acquire(AbortSignal.timeout(500))).toBeUndefined()
    expect(newer.lost).toEqual([])
    await newer.lease.release()
    expect(await older.lease.acquire(soon())).toBeDefined()
  })

  it('keeps another holder out as long as it is renewed', async () => {
    await candidate('a', { ttl: 3000, renewEvery: 50 }).lease.acquire()
    expect(await candidate('b').lease.acquire(AbortSignal.timeout(4000))).toBeUndefined()
  })

  it('falls to another holder when it runs out', async () => {
    const { lease } = candidate('a', { ttl: 200 })
    await lease.acquire()
    await lease.forget()
    expect(await candidate('b').lease.acquire(soon())).toBeDefined()
  })

  it('goes to one of many that ask at the same moment', async () => {
    const { lease } = candidate('a', { ttl: 1 })
    await lease.acquire()
    await lease.forget()
    const occupied = store.query(
      'WITH row AS MATERIALIZED (SELECT 1 FROM canvas.leases FOR UPDATE) SELECT pg_sleep(0.5) FROM row',
    )
    const asking = Array.from({ length: 10 }, (_, at) => candidate(`b${at}`, { ttl: 60_000 }).lease)
    const first = new AbortController()
    const answers = asking.map((each) => each.acquire(first.signal))
    // Who has asked by then is answered all the same, and asks no more.
    await Promise.race(answers)
    first.abort()
    const epochs = await Promise.all(answers)
    await occupied
    expect(epochs.filter((epoch) => epoch !== undefined)).toHaveLength(1)
  })

  it('is free at once after a release', async () => {
    const { lease } = candidate('a', { ttl: long })
    await lease.acquire()
    await lease.release()
    expect(await candidate('b').lease.acquire(soon())).toBeDefined()
  })

  it('survives the loss of its connection, and of its time as long as nobody else took it', async () => {
    const { lease, lost } = candidate('a', { ttl: 20, renewEvery: 50 })
    const epoch = await lease.acquire()
    const renewals = async () =>
      (await store.query<{ at: Date }>('SELECT expires_at AS at FROM canvas.leases'))[0]?.at.getTime() ?? 0
    await store.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc lease'`)
    const before = await renewals()
    await waitFor(async () => (await renewals()) > before + 100)
    expect([lease.epoch, lost]).toEqual([epoch, []])
  })
})
