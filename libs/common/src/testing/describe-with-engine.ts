import { describe } from '@jest/globals'

/**
 * A suite that needs a Docker Engine; left out without one, and said so. The test run looks for the engine once
 * (`SVC_TEST_ENGINE`), since a suite must know while it is being read.
 */
export const describeWithEngine = (name: string, suite: () => void): void => {
  if (process.env.SVC_TEST_ENGINE === 'yes') {
    describe(name, suite)
    return
  }
  process.stderr.write(`\n*** SKIPPED without a container engine: ${name}\n`)
  // biome-ignore lint/suspicious/noSkippedTests: the one place that may, and it says so
  describe.skip(name, suite)
}
