import type { Command } from 'commander'
import { grantText } from '../../app/app.view.js'
import { changedScopes, type GrantChange } from '../../app/scope.list.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface GrantOptions extends GrantChange {
  readonly profile?: string[]
  readonly allProfiles?: boolean
}

export const registerGrant = (app: Command, shell: Shell): void => {
  const made = command(app, 'grant <app> [scopes...]', {
    calls: ['apps.retrieve', 'apps.grant.set'],
    summary: 'Say what an app may do: all of it, or what is to be added or dropped',
    about: `It holds from the next call on, for the app's tokens and for everything that runs for it. A grant that was revoked
is given back by this; without any scopes, it is the grant that it was.

The scopes are svc:llm, svc:act (which needs svc:llm), svc:schedule, svc:memory:read:user, svc:memory:rw:user,
svc:memory:manage:user, svc:memory:read:app, svc:memory:rw:app, svc:files:read:user:<dir>, svc:files:rw:user:<dir>,
svc:files:share, svc:conversations:read:app:<id>, svc:objects:read:app:<id> and <provider>:<group>.`,
    examples: [
      ['svc app grant notes svc:llm svc:act', 'this and nothing else'],
      ['svc app grant notes --add svc:schedule', 'more'],
      ['svc app grant notes --drop svc:act', 'less'],
      ['svc app grant notes', 'give back what was revoked'],
      ['svc app grant notes --nothing', 'nothing, and not revoked: what needs no scope still works'],
    ],
  })
    .option('--add <scope...>', 'add these to what it holds')
    .option('--drop <scope...>', 'take these out of what it holds')
    .option('--nothing', 'an empty list')
    .option('--profile <profile...>', 'only for these of its profiles')
    .option('--all-profiles', 'for all of its profiles')
  performs<GrantOptions>(made, shell, async ({ client, out, json, options }, ref = '', ...words) => {
    const svc = await client()
    const { id, grant } = await svc.apps.retrieve(ref)
    // what follows a command's own arguments comes as one list
    const scopes = changedScopes(grant, words.flat(), options)
    const profiles = options.allProfiles ? null : (options.profile ?? grant.profiles)
    const changed = await svc.apps.grant.set(id, { scopes, profiles, if_match: grant.version })
    if (json) out.json(changed)
    else out.line(grantText(changed))
  })
}
