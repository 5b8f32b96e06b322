import type { Command } from 'commander'
import { appText } from '../../app/app.view.js'
import { scopesOf } from '../../app/scope.list.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface AddOptions {
  readonly description?: string
  readonly origin?: string[]
  readonly scopes?: string[]
  readonly profile?: string[]
}

export const registerAdd = (app: Command, shell: Shell): void => {
  const made = command(app, 'add <name>', {
    calls: ['apps.create'],
    summary: 'Register an app, with what it may do',
    about: `An app may do nothing unless --scopes says so. Its grant is the ceiling of its tokens and of everything that runs
for it, at every moment: narrow it, and what runs is held to it at its next call.

svc:act needs svc:llm. svc:memory:read:app and svc:memory:rw:app stand for the app's own documents.`,
    examples: [
      ['svc app add notes --scopes svc:llm,svc:act', 'an app that runs agents'],
      ['svc app add notes --origin https://notes.example', 'one whose page calls the application listener'],
      ['svc app add site --scopes svc:llm svc:act svc:files:rw:user:/srv/site', 'one that works on a directory'],
      ['svc sys connect --app notes', 'then: a token for it'],
    ],
  })
    .option('--description <text>', 'what it is for')
    .option('--origin <origin...>', 'pages of these origins may call the application listener')
    .option('--scopes <scope...>', 'its grant: scopes separated by blanks or commas')
    .option('--profile <profile...>', 'only for these of its profiles; for all unless given')
  performs<AddOptions>(made, shell, async ({ client, out, json, options }, name = '') => {
    const { description, origin, scopes, profile } = options
    const added = await (await client()).apps.create({
      name,
      ...(description !== undefined && { description }),
      ...(origin && { origins: origin }),
      ...(scopes && { scopes: scopesOf(scopes) }),
      ...(profile && { profiles: profile }),
    })
    if (json) out.json(added)
    else out.line(appText(added))
  })
}
