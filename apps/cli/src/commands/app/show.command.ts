import type { Command } from 'commander'
import { appText } from '../../app/app.view.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerShow = (app: Command, shell: Shell): void => {
  const made = command(app, 'show <app>', {
    calls: ['apps.retrieve'],
    summary: 'Read an app and its grant, by its name or its id',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    const found = await (await client()).apps.retrieve(ref)
    if (json) out.json(found)
    else out.line(appText(found))
  })
}
