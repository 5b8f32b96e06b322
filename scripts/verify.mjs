// Everything that can be checked without a server: format and lint, house rules, types, boundaries, unit tests, drift.
// Runs every step and prints its time, also after a failure. Usage: npm run verify.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './files.mjs'
import { installPackages, projectEnvironment } from './install.mjs'

installPackages()
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const steps = [
  { name: 'build', command: ['node', 'scripts/build.mjs'] },
  { name: 'format and lint', command: ['biome', 'check', '--error-on-warnings', '--max-diagnostics=50', '.'] },
  { name: 'house rules', command: ['node', 'scripts/house-rules.mjs'] },
  { name: 'lock is complete', command: ['node', 'scripts/lock.mjs', '--check'] },
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'boundaries', command: ['depcruise', '--config', '.dependency-cruiser.cjs', 'apps', 'libs'] },
  { name: 'unit tests', command: ['node', 'scripts/test.mjs', 'unit'] },
  ...(scripts.gen ? [{ name: 'drift', command: ['npm', 'run', '--silent', 'gen', '--', '--check'] }] : []),
]

const failed = []
const started = performance.now()
for (const step of steps) {
  const at = performance.now()
  const { code, output } = await run(step.command)
  const seconds = ((performance.now() - at) / 1000).toFixed(1)
  console.log(`${code === 0 ? '✓' : '✗'} ${step.name} (${seconds} s)`)
  if (code === 0) continue
  failed.push(step.name)
  console.log(output)
}
console.log(
  failed.length
    ? `verify: failed: ${failed.join(', ')}`
    : `verify: all ${steps.length} steps passed (${((performance.now() - started) / 1000).toFixed(1)} s)`,
)
process.exit(failed.length ? 1 : 0)

function run([program, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, env: projectEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('error', (error) => resolve({ code: 1, output: error.message }))
    child.on('close', (code) => resolve({ code, output }))
  })
}
