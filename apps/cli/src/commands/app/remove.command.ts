import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerRemove = (app: Command, shell: Shell): void => {
  const made = command(app, 'remove <app>', {
    calls: ['apps.delete'],
    summary: 'Remove an app: its tokens end, and what runs for it may do nothing more',
    about: 'What ran for it stays on the canvas, held. It can not be brought back; `svc app revoke` can.',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    await (await client()).apps.delete(ref)
    if (json) out.json({ app: ref, removed: true })
    else out.line(`${ref} is removed.`)
  })
}
