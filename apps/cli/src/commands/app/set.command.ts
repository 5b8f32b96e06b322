import type { Command } from 'commander'
import { appText } from '../../app/app.view.js'
import { UsageError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface SetOptions {
  readonly name?: string
  readonly description?: string
  /** False for --no-origin. */
  readonly origin?: string[] | boolean
}

export const registerSet = (app: Command, shell: Shell): void => {
  const made = command(app, 'set <app>', {
    calls: ['apps.update'],
    summary: 'Change the name, the description or the origins of an app',
    about: 'What it may do is changed by `svc app grant`.',
    examples: [
      ['svc app set notes --name journal', 'another name; its id and its tokens stay'],
      ['svc app set notes --origin https://notes.example http://localhost:5173', 'pages that may call it'],
      ['svc app set notes --no-origin', 'no page may'],
    ],
  })
    .option('--name <name>', 'its name')
    .option('--description <text>', 'what it is for; an empty text takes it away')
    .option('--origin <origin...>', 'pages of these origins, and no others, may call the application listener')
    .option('--no-origin', 'no page may call it')
  performs<SetOptions>(made, shell, async ({ client, out, json, options }, ref = '') => {
    const { name, description, origin } = options
    // what is negatable is true when it was not named at all
    const origins = origin === false ? [] : Array.isArray(origin) ? origin : undefined
    const changes = {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description: description === '' ? null : description }),
      ...(origins && { origins }),
    }
    if (Object.keys(changes).length === 0) throw new UsageError('nothing to change', 'see svc app set --help')
    const changed = await (await client()).apps.update(ref, changes)
    if (json) out.json(changed)
    else out.line(appText(changed))
  })
}
