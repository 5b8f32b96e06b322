import type { Command } from 'commander'
import type { App } from '#sdk/index.js'
import { grantWord } from '../../app/app.view.js'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerList = (app: Command, shell: Shell): void => {
  const made = command(app, 'list', {
    calls: ['apps.list'],
    summary: 'List the registered apps, the newest first',
  }).option('--after <cursor>', 'the page after this cursor')
  performs<{ after?: string }>(made, shell, async ({ client, out, json, options }) => {
    const query = options.after === undefined ? {} : { after: options.after }
    const found = await (await client()).apps.list(query).page
    if (json) return out.json(found)
    if (found.data.length === 0) out.note('no app is registered: svc app add <name>')
    else out.line(table(['NAME', 'ID', 'TOKENS', 'AGE', 'GRANT'], found.data.map(rowOf)))
    if (found.next_cursor) out.note(`there are more: --after ${found.next_cursor}`)
  })
}

const rowOf = ({ name, id, tokens, created_at, grant }: App): string[] => [
  name,
  id,
  String(tokens),
  ago(created_at),
  brief(grantWord(grant), 80),
]
