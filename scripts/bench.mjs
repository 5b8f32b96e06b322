// `npm run bench`: measures a built daemon beside the floors of this machine, prints a table and writes the figures.
// Usage: npm run bench [-- --only <part> …] [-- --json <file>] [-- --quick] [-- --profile <directory>], where a part is
// floors, nodes, trust, runs, watch, host, command, start, canvas, crons or objects. Times are never asserted.
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './files.mjs'
import { installPackages, node, projectEnvironment, restartOnProjectNode, runsOnProjectNode } from './install.mjs'

installPackages()
if (!runsOnProjectNode()) restartOnProjectNode()
if (spawnSync(node, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)

// Below dist/, where the sources' own import names lead to the built files.
const { build } = await import('esbuild')
await build({
  entryPoints: [
    ...['bench', 'load', 'mock', 'bare', 'checks', 'timers', 'flow'].map((name) => `test/bench/${name}.main.ts`),
    'test/bench/open.doors.ts',
  ].map((path) => join(root, path)),
  outdir: join(root, 'dist/bench'),
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  packages: 'external',
  external: ['#*'],
  sourcemap: true,
  logLevel: 'warning',
})
const bench = spawn(node, ['--enable-source-maps', join(root, 'dist/bench/bench.main.js'), ...process.argv.slice(2)], {
  cwd: root,
  env: projectEnvironment(),
  stdio: 'inherit',
})
bench.on('exit', (code) => process.exit(code ?? 1))
