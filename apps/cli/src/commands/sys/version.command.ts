import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'
import { cliVersion } from '../../version.js'

export const registerVersion = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'version', {
    calls: ['system.health'],
    summary: 'Versions of this command and of the daemon',
  })
  performs(made, shell, async ({ client, out, json }) => {
    const svc = await client()
    const daemon = await svc.system.health({ maxRetries: 0, timeout: 5000 }).then(
      ({ version }) => version,
      () => null,
    )
    if (json) out.json({ command: cliVersion, daemon, base_url: svc.baseUrl })
    else out.line(`command ${cliVersion}\ndaemon  ${daemon ?? `none answers at ${svc.baseUrl}`}`)
  })
}
