import { randomInt } from 'node:crypto'
import type { ServiceName } from '../contract/define.js'
import { busServices, permissionsOf } from '../kernel/subjects.js'
import { required, workerNumber } from './test-environment.js'

export interface TestNats {
  /** Of a user who may do everything within the suite. */
  url: string
}

/** So many that two suites of one run hardly draw the same; the server still starts within 100 ms. */
const accounts = 1000
const nameOf = (account: number): string => `suite-${account}`
const suiteUser = /^suite-\d+$/

/**
 * Configuration of a NATS server whose accounts hear nothing of each other; nobody else gets in. Each has a user with all
 * rights, and one a service with that service's own.
 */
export function natsAccountsConfig(): string {
  const rights = busServices.map((service) => {
    const { publish, subscribe } = permissionsOf(service)
    return `${service}_rights: ${JSON.stringify({ publish: { allow: publish }, subscribe: { allow: subscribe } })}`
  })
  const named = Array.from({ length: accounts }, (_, account) => {
    const name = nameOf(account)
    const users = busServices.map(
      (service) => `{ user: ${name}-${service}, password: ${name}, permissions: $${service}_rights }`,
    )
    return `  ${name}: { users: [{ user: ${name}, password: ${name} }, ${users.join(', ')}] }`
  })
  return [...rights, 'accounts {', ...named, '}', ''].join('\n')
}

/** The bus of a suite as a service reaches it: with the rights of its user. Any other bus stays as it is. */
export function natsUrlAs(url: string, service: ServiceName): string {
  const address = new URL(url)
  if (suiteUser.test(address.username)) address.username += `-${service}`
  return address.href
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
