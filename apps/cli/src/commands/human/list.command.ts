import type { Command } from 'commander'
import type { HumanRequest, HumanRequestsListResponse } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface ListOptions {
  readonly all?: boolean
  readonly status?: string
  readonly node?: string
  readonly after?: string
}

export const registerList = (human: Command, shell: Shell): void => {
  const made = command(human, 'list', {
    calls: ['human.requests.list'],
    summary: 'What waits for a person, newest first',
  })
    .option('--all', 'also what is resolved')
    .option('--status <status>', 'pending, answered, dismissed, canceled or expired')
    .option('--node <id>', 'asked for this node')
    .option('--after <cursor>', 'the page after this cursor')
  performs<ListOptions>(made, shell, async ({ client, out, json, options }) => {
    const status = options.status ?? (options.all ? undefined : 'pending')
    const query = new URLSearchParams({
      ...(status !== undefined && { status }),
      ...(options.node !== undefined && { node_id: options.node }),
      ...(options.after !== undefined && { after: options.after }),
    })
    const found = await (await client()).request<HumanRequestsListResponse>('GET', `/v1/human/requests?${query}`)
    if (json) return out.json(found)
    if (found.data.length === 0) out.note('nothing waits for you')
    else out.line(table(['ID', 'STATUS', 'AGE', 'NODE', 'QUESTION'], found.data.map(rowOf)))
    if (found.next_cursor) out.note(`there are more: --after ${found.next_cursor}`)
  })
}

const rowOf = ({ id, status, created_at, node_id, title }: HumanRequest): string[] => [
  id,
  status,
  ago(created_at),
  node_id ?? '',
  brief(title),
]
