import { Redis } from 'ioredis'
import { required, workerNumber } from './test-environment.js'

export interface TestRedis {
  url: string
}

/** This worker's logical database, emptied. */
export async function testRedis(): Promise<TestRedis> {
  const base = required('SVC_TEST_REDIS_URL')
  const database = workerNumber()
  // A unix socket's form takes the number as a parameter, an address as its path.
  const url = base.startsWith('redis')
    ? `${base}/${database}`
    : `${base}${base.includes('?') ? '&' : '?'}db=${database}`
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 3 })
  await client.connect()
  try {
    await client.flushdb()
  } finally {
    client.disconnect()
  }
  return { url }
}
