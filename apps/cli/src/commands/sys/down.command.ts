import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { until } from '../../clock.js'
import { CommandError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import { isAlive, localDaemon, lockHolder, readJson } from '../../local/data-directory.js'
import { endMarked } from '../../local/marked-processes.js'
import type { Shell } from '../../shell.js'

/** The daemon drains its work within this time in ms, or something is wrong with it. */
const longestDrain = 60_000

export const registerDown = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'down', {
    gate: 'machine',
    summary: 'Stop the daemon of this machine',
    about:
      'Running nodes and the host that holds them go on, and the next daemon takes them over, unless you say --nodes.',
    examples: [
      ['svc sys down', 'stop the daemon, leave running nodes alone'],
      ['svc sys down --nodes', 'stop everything; no process stays'],
    ],
  }).option('--nodes', 'stop the host and every node too')
  performs<{ nodes?: boolean }>(made, shell, async ({ out, json, options }) => {
    const nodes = options.nodes === true
    const local = localDaemon(shell.env)
    const holder = lockHolder(local)
    if (!holder) {
      const left = nodes ? await endMarked(local.dataDir) : []
      return answer({ was_running: false, nodes, left })
    }
    const done = join(local.dataDir, 'run/down.done.json')
    rmSync(done, { force: true })
    writeFileSync(join(local.dataDir, 'run/down.json'), JSON.stringify({ nodes }), { mode: 0o600 })
    process.kill(holder.pid, 'SIGTERM')
    const gone = await until(longestDrain, () => (isAlive(holder) ? undefined : true))
    if (!gone) {
      throw new CommandError(
        `the daemon (pid ${holder.pid}) still drains after ${longestDrain / 1000} s`,
        `see ${local.dataDir}/log/daemon.log`,
      )
    }
    answer({ was_running: true, nodes, left: readJson<{ left?: number[] }>(done)?.left ?? [] })

    function answer(result: { was_running: boolean; nodes: boolean; left: number[] }): void {
      if (json) out.json(result)
      else if (!result.was_running)
        out.line(nodes ? 'The daemon was not running; nothing of it is left.' : 'The daemon is not running.')
      else
        out.line(
          nodes ? 'Stopped; no process of svc is left.' : 'Stopped. Running nodes go on; `svc sys up` takes them over.',
        )
      if (result.left.length) throw new CommandError(`processes that could not be ended: ${result.left.join(', ')}`)
    }
  })
}
