import type { Command } from 'commander'
import { CommandError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import { daemonChecks } from '../../local/daemon.checks.js'
import { machineChecks } from '../../local/machine.checks.js'
import { tokenFileChecks } from '../../local/trust.checks.js'
import type { Shell } from '../../shell.js'

export const registerDoctor = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'doctor', {
    gate: 'machine',
    mayCall: [
      'system.status',
      'models.readiness',
      'sandbox.get',
      'access.retrieve',
      'tokens.list',
      'apps.list',
      'audit.list',
    ],
    summary: 'Look for what is missing on this machine, and say how to mend it',
    examples: [['svc sys doctor', 'check Node, servers, disk, sandbox, daemon, host, models, tokens and listeners']],
  })
  performs(made, shell, async ({ client, out, json }) => {
    const local = [...machineChecks(shell.env), ...tokenFileChecks(shell.env)]
    const findings = [...local, ...(await daemonChecks(await client()))]
    if (json) out.json({ findings })
    else {
      for (const { name, state, detail, remedy } of findings) {
        const mark = { ok: out.paint('green', '✓'), warn: out.paint('yellow', '!'), fail: out.paint('red', '✗') }[state]
        out.line(`${mark} ${name.padEnd(12)} ${detail}`)
        if (remedy) out.line(`  ${' '.repeat(12)} → ${remedy}`)
      }
    }
    const failed = findings.filter(({ state }) => state === 'fail')
    if (failed.length) throw new CommandError(`${failed.map(({ name }) => name).join(', ')}: not as svc needs it`)
  })
}
