import type { Command } from 'commander'
import type { SystemStatus } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import type { Output } from '../../output/output.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerStatus = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'status', {
    calls: ['system.status'],
    summary: 'State of the daemon and of each of its parts',
  })
  performs(made, shell, async ({ client, out, json }) => {
    const status = await (await client()).system.status()
    if (json) out.json(status)
    else print(status, out)
  })
}

const print = (status: SystemStatus, out: Output): void => {
  const state = status.ready ? out.paint('green', 'ready') : out.paint('yellow', 'not ready')
  out.line(`svc ${status.version} at ${status.base_url}: ${state}, up ${ago(status.started_at)}`)
  out.line()
  out.line(
    table(
      ['PART', 'STATE', 'VERSION', 'DETAIL'],
      status.parts.map((part) => [part.name, part.state, part.version ?? '-', brief(part.detail ?? '', 90)]),
    ),
  )
  const nodes = Object.entries(status.nodes).map(([name, count]) => `${count} ${name}`)
  out.line()
  out.line(`nodes:   ${nodes.join(', ') || 'none yet'}`)
  if (status.brokers)
    out.line(`brokers: ${status.brokers.live} live, ${status.brokers.warm} warm, at most ${status.brokers.cap}`)
  const levels = [...new Set(status.sandbox?.map(({ level }) => level))]
  if (levels.length) out.line(`sandbox: ${levels.join(', ')}`)
}
