import { randomInt } from 'node:crypto'
import { required, workerNumber } from './test-environment.js'

export interface TestNats {
  url: string
}

/** So many that two suites of one run hardly draw the same; the server still starts within 100 ms. */
const accounts = 1000
const nameOf = (account: number): string => `suite-${account}`

/** Configuration of a NATS server whose accounts, each with one user, hear nothing of each other; nobody else gets in. */
export function natsAccountsConfig(): string {
  const named = Array.from({ length: accounts }, (_, account) => {
    const name = nameOf(account)
    return `  ${name}: { users: [{ user: ${name}, password: ${name} }] }`
  })
  return ['accounts {', ...named, '}', ''].join('\n')
}

/** The bus of one account; an account that does not exist is refused by the server. */
export function natsUrlOf(server: string, account: number): string {
  const url = new URL(server)
  url.username = nameOf(account)
  url.password = nameOf(account)
  return url.href
}

/** Jest loads this module anew for each suite, so the account is the suite's own. */
const own = randomInt(accounts)

/**
 * The bus of this suite: what an earlier suite of this worker left there can neither hear it nor answer it. The server
 * must stay up for the suites that follow; one that kills its bus takes a `NatsProcess`.
 */
export function testNats(account = own): TestNats {
  const urls = required('SVC_TEST_NATS_URLS').split(',')
  const url = urls[(workerNumber() - 1) % urls.length]
  if (!url) throw new Error('the test run has no bus')
  return { url: natsUrlOf(url, account) }
}
