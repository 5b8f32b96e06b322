// Kills, pauses and cuts off every process by turns under load and checks what must hold of the whole canvas.
// Usage: npm run chaos -- [--count 100 | --minutes 10] [--seed 1] [--from 1]; the same seed makes the same loads, stories,
// faults and moments.
import { spawnSync } from 'node:child_process'
import { root } from './files.mjs'
import {
  installPackages,
  installServers,
  node,
  remedyFor,
  restartOnProjectNode,
  runsOnProjectNode,
} from './install.mjs'

installPackages()
if (!runsOnProjectNode()) restartOnProjectNode()
const missing = installServers()
if (missing.length) console.warn(`chaos: ${remedyFor(missing)}`)
if (spawnSync(node, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)
const { loadSource } = await import('./gen/load-source.mjs')
const { main } = await loadSource('test/chaos/main.ts')
process.exit(await main(process.argv.slice(2)))
