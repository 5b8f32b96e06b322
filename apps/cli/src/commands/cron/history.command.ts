import type { Command } from 'commander'
import type { CronFire, Page } from '#sdk/index.js'
import { PageList } from '#sdk/page.js'
import { given } from '../../canvas/given.js'
import { fireTable } from '../../cron/fire.text.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { type PagedOptions, printPaged, queryOf } from '../../output/paged.js'
import type { Shell } from '../../shell.js'

export const registerHistory = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'history <id>', {
    calls: ['crons.fires.list'],
    summary: 'What became of its slots, newest first',
    about:
      'The status is that of the work that a firing started, not of its start. A slot that was never fired has its line too, and says why.',
    examples: [['svc cron history <id> --limit 5', 'the newest five']],
  })
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<PagedOptions>(made, shell, async (call, id = '') => {
    const client = await call.client()
    const asked = given(call.options, 'after', 'limit')
    const list = new PageList<CronFire>((after) =>
      client.request<Page<CronFire>>('GET', `/v1/crons/${encodeURIComponent(id)}/fires${queryOf(asked, after)}`),
    )
    await printPaged(call, list, fireTable)
  })
}
