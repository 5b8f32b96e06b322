// Kills, pauses and cuts off every process by turns under load and checks what must hold of the whole canvas.
// With --target crons instead: does so around the firings of schedules, and checks each slot and its effect.
// Usage: npm run chaos -- [--target canvas] [--count 100 | --minutes 10] [--seed 1] [--from 1], or
// npm run chaos -- --target crons [--count 200] [--seed 1] [--from 1]; the same seed makes the same loads, stories, schedules,
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
const args = process.argv.slice(2)
const target = args.includes('--target') ? args.splice(args.indexOf('--target'), 2)[1] : 'canvas'
const mains = { canvas: 'test/chaos/main.ts', crons: 'test/chaos/crons/cron.main.ts' }
if (!(target in mains)) throw new Error(`--target is ${Object.keys(mains).join(' or ')}, not ${target}`)
const { loadSource } = await import('./gen/load-source.mjs')
const { main } = await loadSource(mains[target])
process.exit(await main(args))
