import type { Command } from 'commander'
import { cronText } from '../../cron/cron.view.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerShow = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'show <id>', {
    calls: ['crons.retrieve'],
    summary: 'Read one schedule: why it is as it is, and what became of its last slot',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const found = await (await client()).crons.retrieve(id)
    if (json) out.json(found)
    else out.line(cronText(found))
  })
}
