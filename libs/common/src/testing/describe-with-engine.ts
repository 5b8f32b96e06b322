import { describe } from '@jest/globals'

/** A suite that needs what not every machine has; left out without it, and said so. */
export const describeWhere = (possible: boolean, needed: string, name: string, suite: () => void): void => {
  if (possible) {
    describe(name, suite)
    return
  }
  process.stderr.write(`\n*** SKIPPED without ${needed}: ${name}\n`)
  // biome-ignore lint/suspicious/noSkippedTests: the one place that may, and it says so
  describe.skip(name, suite)
}

/**
 * A suite that needs a Docker Engine. The test run looks for the engine once (`SVC_TEST_ENGINE`), since a suite must
 * know while it is being read.
 */
export const describeWithEngine = (name: string, suite: () => void): void =>
  describeWhere(process.env.SVC_TEST_ENGINE === 'yes', 'a container engine', name, suite)
