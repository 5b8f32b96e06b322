// `npm start`: from a fresh clone to a ready daemon. Runs on a bare Node 20 with nothing installed: installs the
// project's packages when the lock changed, builds what changed, then serves until Ctrl-C. Arguments go to the launcher
// (`npm start -- --detached` leaves the daemon running).
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from './files.mjs'
import { installPackages, node, projectEnvironment } from './install.mjs'

const main = join(root, 'dist/apps/daemon/src/main.js')
const args = process.argv.slice(2)

try {
  installPackages()
} catch (error) {
  console.error(`start: ${error.message}`)
  process.exit(1)
}
const build = spawnSync(node, [join(root, 'scripts/build.mjs')], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
if (build.status !== 0) process.exit(1)

const { daemonFlags } = await import('../dist/apps/daemon/src/node-flags.js')
const daemon = spawn(node, [...daemonFlags, main, ...(args.length ? args : ['--foreground'])], {
  stdio: 'inherit',
  env: projectEnvironment(),
  // A group of its own: else a terminal's Ctrl-C would reach the daemon twice, from the terminal and from here, and the
  // second signal ends it at once.
  detached: true,
})
// npm hands on the signal that the terminal sent to all of its group: one Ctrl-C arrives here twice.
const oneKeystroke = 300
let last = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    const now = performance.now()
    if (last && now - last < oneKeystroke) return
    last = now
    daemon.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal)
  })
}
daemon.on('error', (error) => {
  console.error(`start: ${error.message}`)
  process.exit(1)
})
daemon.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
