// Made from the contract by `npm run gen`. Do not edit.

import type { Namespaces } from './namespaces.js'

/** What the application listener serves to an application: a client with nothing else. */
export interface AppClient {
  readonly grant: {
    readonly get: Namespaces['grant']['get']
  }
  readonly health: {
    readonly get: Namespaces['health']['get']
  }
}
