import type { Command } from 'commander'
import type { NodesFaultsListResponse } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerFaults = (node: Command, shell: Shell): void => {
  const made = command(node, 'faults <id>', {
    calls: ['nodes.faults.list'],
    summary: 'List the faults that a node has had, newest first',
  }).option('--limit <number>', 'entries, 1 to 200', wholeNumber)
  performs<{ limit?: number }>(made, shell, async ({ client, out, json, options }, id = '') => {
    const query = options.limit === undefined ? '' : `?limit=${options.limit}`
    const page = await (await client()).request<NodesFaultsListResponse>('GET', `/v1/nodes/${id}/faults${query}`)
    if (json) out.json(page)
    else out.line(tableOf(page.data))
  })
}

const tableOf = (faults: NodesFaultsListResponse['data']): string =>
  table(
    ['KIND', 'SINCE', 'TRIES', 'ENDED', 'TURN', 'MESSAGE'],
    faults.map(({ kind, since, tries, ended_at, turn, message }) => [
      kind,
      `${ago(since)} ago`,
      String(tries),
      ended_at === null ? 'no' : `${ago(ended_at)} ago`,
      String(turn),
      brief(message, 100),
    ]),
  )
