import type { Command } from 'commander'
import type { CronsListQuery } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { cronTable } from '../../cron/cron.view.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { type PagedOptions, printPaged } from '../../output/paged.js'
import type { Shell } from '../../shell.js'

interface ListOptions extends PagedOptions {
  readonly status?: CronsListQuery['status']
  readonly node?: string
  readonly app?: string
}

export const registerList = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'list', {
    calls: ['crons.list'],
    summary: 'List schedules, newest first',
    examples: [
      ['svc cron list --status paused', 'those that fire nothing for now'],
      ['svc cron list --node <id>', 'those of one node'],
    ],
  })
    .option('--status <status>', 'active, paused, completed or failed')
    .option('--node <id>', 'of this node')
    .option('--app <id>', 'of this application')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<ListOptions>(made, shell, async (call) => {
    const { node, app } = call.options
    const query: CronsListQuery = {
      ...given(call.options, 'status', 'after', 'limit'),
      ...(node !== undefined && { node_id: node }),
      ...(app !== undefined && { app_id: app }),
    }
    await printPaged(call, (await call.client()).crons.list(query), cronTable)
  })
}
