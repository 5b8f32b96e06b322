import type { Command } from 'commander'
import type { Node } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import { faultLine, retryLine } from '../../node/fault.text.js'
import { facts } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerShow = (node: Command, shell: Shell): void => {
  const made = command(node, 'show <id>', { calls: ['nodes.retrieve'], summary: 'Read one node' })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const found = await (await client()).nodes.retrieve(id)
    if (json) out.json(found)
    else out.line(facts(pairsOf(found)))
  })
}

const pairsOf = (node: Node): [string, string | number | null][] => [
  ['id', node.id],
  ['name', node.name],
  ['description', node.description],
  ['status', node.intent ? `${node.status} (${node.intent})` : node.status],
  ['fault', node.fault && faultLine(node.fault)],
  ['retry', node.fault && retryLine(node.fault)],
  ['waiting', node.waiting && waitingText(node.waiting)],
  ['kind', `${node.kind}, ${node.mode}, ${node.lifecycle}`],
  ['engine', node.exec ? `${node.engine}: ${node.exec.argv.join(' ')}` : node.engine],
  ['model', node.engine === 'exec' ? null : (node.model.override ?? node.model.strength)],
  ['answered by', node.answered_by],
  ['cwd', node.cwd],
  ['worktree', node.worktree && worktreeText(node.worktree)],
  ['parent', node.parent_id],
  ['copy of', node.forked_from && `${node.forked_from.node_id} after its turn ${node.forked_from.turn}`],
  ['succeeds', node.succeeds && `${node.succeeds} (${node.succession?.replace('_', ' ')})`],
  ['scopes', node.scopes.join(' ')],
  ['generation', `${node.generation}, engagement ${node.engagement}, context ${node.context}, ${node.cycles} cycles`],
  [
    'broker',
    node.broker && `pid ${node.broker.pid} on ${node.broker.host_id}, seen ${ago(node.broker.heartbeat_at)} ago`,
  ],
  [
    'usage',
    node.usage.input_tokens
      ? `${node.usage.input_tokens} tokens in, ${node.usage.output_tokens} out, $${node.usage.cost_usd.toFixed(4)}`
      : null,
  ],
  ['created', `${node.created_at} (${ago(node.created_at)} ago)`],
  ['updated', `${node.updated_at} (${ago(node.updated_at)} ago)`],
]

const waitingText = ({ since, until, reason }: NonNullable<Node['waiting']>): string =>
  `${reason ? `for ${reason}, ` : ''}since ${since}, ${until ? `until ${until} at the latest` : 'until mail comes'}`

const worktreeText = ({ state, branch, base, commit, repository }: NonNullable<Node['worktree']>): string =>
  `${state}: ${branch}${commit ? ` at ${commit.slice(0, 12)}` : ''}, from ${base.slice(0, 12)} of ${repository}`
