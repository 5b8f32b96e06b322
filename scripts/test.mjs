// Installs what is missing, builds, runs the tiers, and ends in one line: `N passed, N failed[, N skipped]`.
// Usage: npm test [-- tier …] [-- jest arguments], where a tier is unit, integration or e2e; all three by default.
// SVC_TEST_SERVERS=docker|process decides where Postgres, NATS and Redis come from; else an engine is used if there is one.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './files.mjs'
import {
  installPackages,
  installServers,
  node,
  projectEnvironment,
  remedyFor,
  restartOnProjectNode,
  runsOnProjectNode,
} from './install.mjs'

const tiers = ['unit', 'integration', 'e2e']
const results = join(root, 'dist/test-results.json')

try {
  installPackages()
} catch (error) {
  console.error(error.message)
  finish({ failed: 1 })
}
if (!runsOnProjectNode()) restartOnProjectNode()

const chosen = tiers.filter((tier) => process.argv.slice(2).includes(tier))
const others = process.argv.slice(2).filter((arg) => !tiers.includes(arg) && arg !== '--')
if (chosen[0] !== 'unit' || chosen.length > 1) {
  const missing = installServers()
  if (missing.length) console.warn(`test: ${remedyFor(missing)}`)
}
if (spawnSync(node, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' }).status !== 0) finish({ failed: 1 })

mkdirSync(join(root, 'dist'), { recursive: true })
rmSync(results, { force: true })
const jest = spawnSync(
  node,
  [
    'node_modules/jest/bin/jest.js',
    '--selectProjects',
    ...(chosen.length ? chosen : tiers),
    '--passWithNoTests',
    '--forceExit',
    '--json',
    `--outputFile=${results}`,
    ...others,
  ],
  // The report also goes to the standard output, where nobody reads it: people read what Jest writes to standard error.
  {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: projectEnvironment({
      NODE_OPTIONS:
        `${process.env.NODE_OPTIONS ?? ''} --experimental-vm-modules --disable-warning=ExperimentalWarning`.trim(),
    }),
  },
)
if (!existsSync(results)) finish({ failed: 1 })
const report = JSON.parse(readFileSync(results, 'utf8'))
finish({
  passed: report.numPassedTests,
  // A suite that could not even start has no tests to count.
  failed: report.numFailedTests + report.numRuntimeErrorTestSuites || (report.success && jest.status === 0 ? 0 : 1),
  skipped: report.numPendingTests + report.numTodoTests,
})

function finish({ passed = 0, failed = 0, skipped = 0 }) {
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`)
  process.exit(failed ? 1 : 0)
}
