import type { Command } from 'commander'
import type { Token, TokensListQuery } from '#sdk/index.js'
import { given } from '../../../canvas/given.js'
import { ago } from '../../../clock.js'
import { wholeNumber } from '../../../input.js'
import { command, performs } from '../../../invocation.js'
import { brief, table } from '../../../output/table.js'
import type { Shell } from '../../../shell.js'

interface ListOptions extends TokensListQuery {
  readonly all?: boolean
}

export const registerTokenList = (tokens: Command, shell: Shell): void => {
  const made = command(tokens, 'list', {
    calls: ['tokens.list'],
    summary: 'Tokens, the newest first',
    examples: [['svc sys tokens list --app notes --status active', 'who can act for an app now']],
  })
    .option('--app <app>', 'of this app, by its id or name')
    .option('--status <status>', 'active, expired or revoked')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<ListOptions>(made, shell, async ({ client, out, json, options }) => {
    const list = (await client()).tokens.list(given(options, 'app', 'status', 'after', 'limit'))
    if (json && options.all) {
      for await (const one of list) out.record(one)
      return
    }
    const page = await list.page
    if (json) return out.json(page)
    const entries: Token[] = []
    if (options.all) for await (const one of list) entries.push(one)
    out.line(tableOf(options.all ? entries : page.data))
    if (!options.all && page.has_more) out.note('there are more: --all lists every one')
  })
}

const tableOf = (entries: readonly Token[]): string =>
  table(
    ['ID', 'KIND', 'STATUS', 'APP', 'AGE', 'LAST USED', 'ENDS', 'LABEL'],
    entries.map((token) => [
      token.id,
      token.kind,
      token.status,
      token.app_id ?? '-',
      ago(token.created_at),
      token.last_used_at === null ? 'never' : `${ago(token.last_used_at)} ago`,
      token.expires_at?.slice(0, 16) ?? '-',
      brief(token.label ?? ''),
    ]),
  )
