import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerRevoke = (app: Command, shell: Shell): void => {
  const made = command(app, 'revoke <app>', {
    calls: ['apps.grant.revoke'],
    summary: 'Take everything back from an app; what runs for it rests until it is given back',
    about:
      'Its tokens stay, and are refused. `svc app grant <app>` gives the grant back; what rested goes on by itself.',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    const grant = await (await client()).apps.grant.revoke(ref)
    if (json) out.json(grant)
    else out.line(`The grant of ${ref} is revoked. Give it back: svc app grant ${ref}`)
  })
}
