import { required, workerNumber } from './test-environment.js'

export interface TestNats {
  url: string
}

/**
 * The bus of this worker: suites that run at the same time have different servers, so subjects need no prefix. It must
 * stay up for the suites that follow; one that kills its bus takes a `NatsProcess`.
 */
export function testNats(): TestNats {
  const urls = required('SVC_TEST_NATS_URLS').split(',')
  const url = urls[(workerNumber() - 1) % urls.length]
  if (!url) throw new Error('the test run has no bus')
  return { url }
}
