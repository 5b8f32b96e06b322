import type { TestDaemonOptions } from '../support/daemon.js'
import type { ApartName } from '../support/daemon-processes.js'

/** A daemon that has these services in processes of their own, which are found and killed by their names. */
export const apart = (...services: ApartName[]): TestDaemonOptions => ({
  main: 'test/chaos/apart.daemon.mjs',
  env: { CHAOS_APART: services.join(',') },
})
