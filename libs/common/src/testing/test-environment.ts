/** What the global set-up of the test run left for the workers. */
type Variable =
  | 'SVC_TEST_POSTGRES_URL'
  | 'SVC_TEST_TEMPLATE'
  | 'SVC_TEST_REDIS_URL'
  | 'SVC_TEST_NATS_URLS'
  | 'SVC_TEST_MODE'

/** @throws Error when the suite runs in a tier that brings up no servers. */
export function required(name: Variable): string {
  const value = process.env[name]
  if (value) return value
  throw new Error(`${name} is not set: only *.int-spec.ts and *.e2e-spec.ts get servers`)
}

/** Jest numbers its workers from 1; suites of one worker run one after another. */
export const workerNumber = (): number => Number(process.env.JEST_WORKER_ID ?? 1)
