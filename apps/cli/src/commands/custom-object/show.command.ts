import type { Command } from 'commander'
import { objectText } from '../../custom-object/object.view.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerShow = (object: Command, shell: Shell): void => {
  const made = command(object, 'show <ref>', {
    calls: ['customObjects.retrieve'],
    summary: 'Read one object: its events, its receiver and what waits there',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    const found = await (await client()).customObjects.retrieve(ref)
    if (json) out.json(found)
    else out.line(objectText(found))
  })
}
