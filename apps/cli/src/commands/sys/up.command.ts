import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { CommandError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import { localDaemon, lockHolder } from '../../local/data-directory.js'
import type { Shell } from '../../shell.js'

/** Beside this bundle, in dist/. */
const launcher = new URL('./apps/daemon/src/main.js', import.meta.url).pathname

export const registerUp = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'up', {
    gate: 'machine',
    summary: 'Start the daemon of this machine and wait until it is ready',
    about:
      'It goes on when the terminal is closed. Its data is in SVC_DATA_DIR (~/.local/share/svc), its log in log/daemon.log there.',
    examples: [
      ['svc sys up', 'start it'],
      ['SVC_DATA_DIR=/srv/agents svc sys up', 'start one with a directory of its own'],
    ],
  })
  performs(made, shell, async ({ out, json }) => {
    const before = localDaemon(shell.env)
    if (lockHolder(before) && before.running) {
      if (json) out.json(before.running)
      else out.line(`svc ${before.running.version} is running already: ${before.running.base_url}`)
      return
    }
    if (!existsSync(launcher)) {
      throw new CommandError('the daemon is not built here', 'run `npm start` once in the directory of svc')
    }
    const child = spawn(process.execPath, [launcher, '--detached'], {
      env: shell.env,
      stdio: ['ignore', json ? 'ignore' : 'inherit', 'inherit'],
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new CommandError('the daemon did not start', `its log is in ${before.dataDir}/log`)
    if (json) out.json(localDaemon(shell.env).running)
  })
}
