import type { Command } from 'commander'
import type { ReviveAllAnswer, ReviveAllBody } from '#sdk/index.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface ReviveAllOptions {
  readonly confirm?: boolean
  readonly under?: string
  readonly limit?: number
}

export const registerReviveAll = (node: Command, shell: Shell): void => {
  const made = command(node, 'revive-all', {
    calls: ['nodes.reviveAll'],
    summary: 'List the nodes that owe work which nobody does; --confirm revives them',
    about: `Those that died with their work unfinished, and those that rest, owe a report and wait for nothing. They start
one after another, some a second.`,
    examples: [
      ['svc node revive-all', 'which they are, and why'],
      ['svc node revive-all --confirm', 'bring them back'],
    ],
  })
    .option('--confirm', 'revive them')
    .option('--under <id>', 'at or below this node')
    .option('--limit <number>', 'at most so many, 1 to 200', wholeNumber)
  performs<ReviveAllOptions>(made, shell, async ({ client, out, json, options }) => {
    const { confirm = false, under, limit } = options
    const body: ReviveAllBody = {
      confirm,
      ...(under !== undefined && { under }),
      ...(limit !== undefined && { limit }),
    }
    const answer = await (await client()).nodes.reviveAll(body)
    if (json) return out.json(answer)
    if (answer.nodes.length === 0) return out.line('No node owes work that nobody does.')
    out.line(tableOf(answer))
    if (answer.has_more) out.note('there are more: --limit lists up to 200, and asking again goes on')
    out.note(remark(confirm, answer))
  })
}

const remark = (confirm: boolean, { nodes, revived }: ReviveAllAnswer): string =>
  confirm
    ? `${revived.length} of ${nodes.length} start again, one after another`
    : 'nothing was revived: --confirm revives them'

const tableOf = ({ nodes, revived }: ReviveAllAnswer): string => {
  const back = new Set(revived)
  const state = ({ id, usable, status }: ReviveAllAnswer['nodes'][number]): string =>
    back.has(id) ? 'revived' : usable ? status : `${status}, its worktree is gone`
  return table(
    ['ID', 'STATUS', 'NAME', 'WHY'],
    nodes.map((node) => [node.id, state(node), brief(node.name, 30), brief(node.reason, 100)]),
  )
}
