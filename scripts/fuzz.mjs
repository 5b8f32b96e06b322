// Sends malformed requests, made from the contract, to every route and checks what answers.
// Usage: npm run fuzz -- [--count 10000] [--seed 1] [--from 1]; the same seed makes the same requests.
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
if (missing.length) console.warn(`fuzz: ${remedyFor(missing)}`)
if (spawnSync(node, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)
const { loadSource } = await import('./gen/load-source.mjs')
const { main } = await loadSource('test/fuzz/main.ts')
process.exit(await main(process.argv.slice(2)))
