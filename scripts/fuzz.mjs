// Sends malformed requests, made from the contract, to every route and checks what answers.
// With --target files instead: attacks the confinement of file access, with a process beside it that swaps links.
// Usage: npm run fuzz -- [--target routes|files] [--count 10000 | --per-route 10000] [--only nodes.] [--seed 1] [--from 1]; the same
// seed makes the same tries.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
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
const args = process.argv.slice(2)
const target = args.includes('--target') ? args.splice(args.indexOf('--target'), 2)[1] : 'routes'
const { loadSource } = await import('./gen/load-source.mjs')
if (target === 'files') {
  const { main } = await loadSource('test/fuzz/files.main.ts')
  process.exit(await main(args, join(root, 'test/fuzz/files.swapper.mjs')))
}
if (target !== 'routes') throw new Error(`--target is routes or files, not ${target}`)
const missing = installServers()
if (missing.length) console.warn(`fuzz: ${remedyFor(missing)}`)
if (spawnSync(node, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)
const { main } = await loadSource('test/fuzz/main.ts')
process.exit(await main(args))
