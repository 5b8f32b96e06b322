// Kills, pauses and cuts off every process by turns under load and checks what must hold of the whole canvas.
// With --target instead: crons does so around the firings of schedules, and checks each slot and its effect; objects while
// events are published, and checks that each is delivered; consumer kills who receives them.
// Usage: npm run chaos -- [--target canvas] [--count 100 | --minutes 10] [--seed 1] [--from 1],
// npm run chaos -- --target crons|objects [--count 200] [--seed 1] [--from 1], or
// npm run chaos -- --target consumer [--events 100000] [--kills 100] [--seed 1]; the same seed makes the same loads, stories,
// schedules, faults and moments.
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
