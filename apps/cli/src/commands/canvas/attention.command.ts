import type { Command } from 'commander'
import type { AttentionItem, CanvasAttentionQuery } from '#sdk/index.js'
import { given } from '../../canvas/given.js'
import { ago } from '../../clock.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Output } from '../../output/output.js'
import { brief } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerAttention = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'attention', {
    calls: ['canvas.attention'],
    summary:
      'What needs a person: open questions, faults, nodes that hang, schedules that fail, receivers of objects that are paused',
  })
    .option('--under <id>', 'at or below this node')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'nodes a page, 1 to 200', wholeNumber)
  performs<CanvasAttentionQuery>(made, shell, async ({ client, out, json, options }) => {
    const found = await (await client()).canvas.attention(given(options, 'under', 'after', 'limit'))
    if (json) return out.json(found)
    for (const item of found.items) out.line(itemText(item, out))
    if (found.items.length === 0) out.note('nothing needs you')
    if (found.next_cursor) out.note(`there are more: --after ${found.next_cursor}`)
  })
}

const itemText = (item: AttentionItem, out: Output): string => {
  const node = item.node_id === null ? [] : [`${brief(item.node_name ?? '')} (${item.node_id})`, item.status]
  const subject = item.cron_id ?? item.object_id
  return [
    `${out.paint('red', item.fault ?? item.type)}  ${[...(subject ? [subject] : []), ...node, `for ${ago(item.since)}`].join(', ')}`,
    `  ${brief(item.message, 200)}`,
    `  ${out.paint('dim', item.remedy)}`,
  ].join('\n')
}
