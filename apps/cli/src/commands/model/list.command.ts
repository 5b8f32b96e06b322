import type { Command } from 'commander'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerList = (model: Command, shell: Shell): void => {
  const made = command(model, 'list', {
    calls: ['models.credentials.list'],
    summary: 'List the installed credentials, without their material',
  })
  performs(made, shell, async ({ client, out, json }) => {
    const page = await (await client()).models.credentials.list()
    if (json) return out.json(page)
    const rows = page.data.map((one) => [
      one.provider,
      one.kind,
      one.last_four ? `…${one.last_four}` : '-',
      one.health.state,
      ago(one.updated_at),
      one.label ?? '',
    ])
    out.line(table(['PROVIDER', 'KIND', 'KEY', 'HEALTH', 'AGE', 'LABEL'], rows))
  })
}
