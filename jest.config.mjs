// Three tiers. Unit tests need nothing; the other two share one Postgres, NATS and Redis, brought up once for the run.
import { availableParallelism } from 'node:os'

const tier = {
  rootDir: '.',
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  resolver: '<rootDir>/test/support/jest-resolver.cjs',
  setupFiles: ['reflect-metadata'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/dist/'],
}
const servers = {
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/patience.cjs'],
}

export default {
  // The longest that a test of any tier may take; Jest knows no such limit of one project.
  testTimeout: 120_000,
  maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)),
  testSequencer: '<rootDir>/test/support/sequencer.cjs',
  projects: [
    { ...tier, displayName: 'unit', testMatch: ['<rootDir>/{apps,libs,test,scripts}/**/*.spec.ts'] },
    {
      ...tier,
      ...servers,
      displayName: 'integration',
      testMatch: ['<rootDir>/{apps,libs,test}/**/*.int-spec.ts'],
      globals: { patience: 60_000 },
    },
    {
      ...tier,
      ...servers,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/{e2e,chaos,fuzz,trust}/**/*.e2e-spec.ts'],
      globals: { patience: 120_000 },
    },
  ],
}
