import type {
  CancelResult,
  Node,
  NodesInterruptResponse,
  NodesListResponse,
  Outcome,
  Report,
} from '#sdk/generated/types.js'
import type { NodeSession } from '../node/node.session.js'
import { keyOf } from './call.key.js'
import { nodeIdOf } from './node.reference.js'
import { schemaOf, type Tool, ToolError, type ToolResult, type ToolRun } from './tool.js'

const actions = ['list', 'show', 'interrupt', 'cancel'] as const
/** Nodes that a list shows, newest first. */
const listed = 100
/** Characters of a report or a result that are shown. */
const shownLength = 30_000

export const nodesTool = (session: NodeSession): Tool => ({
  name: 'nodes',
  description:
    'Looks after the nodes below you. `list`: which there are and how they stand. `show`: one of them, with its last report, its result and how it ended. `interrupt`: ends its present turn; it stays, and goes on with the next message. `cancel`: ends it for good, with all below it that nobody else watches. Their reports and ends come to you by themselves: never look in a loop, `wait`.',
  inputSchema: schemaOf(
    {
      action: { type: 'string', enum: [...actions] },
      node_id: { type: 'string', description: 'Which, for show, interrupt and cancel' },
    },
    ['action'],
  ),
  acts: true,
  repeatable: true,
  async run(input, call) {
    const action = actions.find((one) => one === input.action)
    switch (action) {
      case 'list':
        return listNodes(session, call)
      case 'show':
        return showNode(session, nodeIdOf(input, session), call)
      case 'interrupt':
        return interruptNode(session, nodeIdOf(input, session), call)
      case 'cancel':
        return cancelNode(session, nodeIdOf(input, session), call)
      case undefined:
        throw new ToolError(`"action" must be one of: ${actions.join(', ')}.`)
    }
  },
})

const listNodes = async (session: NodeSession, { signal }: ToolRun): Promise<ToolResult> => {
  const self = session.serve.node_id
  const path = `/v1/nodes?under=${self}&limit=${listed}`
  const { data, next_cursor } = await session.daemon.ask<NodesListResponse>('GET', path, undefined, { signal })
  const below = data.filter(({ id }) => id !== self)
  if (!below.length) return { output: 'There are no nodes below you. `spawn` starts one.' }
  const lines = below.map((node) => {
    const place = node.parent_id === self || node.parent_id === null ? '' : `  (below ${node.parent_id})`
    return `${node.id}  ${node.name}  ${node.kind}  ${stateOf(node)}${place}`
  })
  return { output: [...lines, ...(next_cursor ? [`[only the newest ${listed} are shown]`] : [])].join('\n') }
}

const words: Readonly<Record<Node['status'], string>> = {
  active: 'at work',
  idle: 'at rest',
  done: 'done',
  dead: 'failed',
  canceled: 'canceled',
}

const stateOf = ({ status, waiting, fault }: Node): string => {
  const reason = waiting && ` (waits${waiting.reason ? `: ${waiting.reason}` : ''})`
  const trouble = fault && ` (${fault.kind}: ${fault.message.slice(0, 200)})`
  return `${words[status]}${reason ?? ''}${trouble ?? ''}`
}

const showNode = async ({ daemon }: NodeSession, id: string, { signal }: ToolRun): Promise<ToolResult> => {
  const [node, outcome, newest] = await Promise.all([
    daemon.ask<Node>('GET', `/v1/nodes/${id}`, undefined, { signal }),
    daemon.ask<Outcome>('GET', `/v1/nodes/${id}/outcome`, undefined, { signal }),
    newestReport(daemon, id, signal),
  ])
  const { final_report, result, error } = outcome
  const report = final_report ?? newest
  const lines = [
    `${node.name} (${id}), kind ${node.kind}, ${node.lifecycle}: ${stateOf(node)}`,
    `works in ${node.cwd}${node.worktree ? `, on the branch ${node.worktree.branch} (${node.worktree.state})` : ''}`,
    error ? `It failed: ${error.kind}: ${error.message}` : '',
    result === undefined || result === null ? '' : `Its result: ${shown(JSON.stringify(result), id)}`,
    report ? `Its ${report.kind} report:\n${shown(report.body, id)}` : 'It has not reported yet.',
  ]
  return { output: lines.filter(Boolean).join('\n') }
}

interface ReportPage {
  readonly data: readonly Report[]
  readonly next_cursor: string | null
}

const newestReport = async (
  daemon: NodeSession['daemon'],
  id: string,
  signal: AbortSignal,
): Promise<Report | undefined> => {
  let newest: Report | undefined
  for (let after = ''; ; ) {
    const path = `/v1/nodes/${id}/reports?limit=200${after && `&after=${encodeURIComponent(after)}`}`
    const page = await daemon.ask<ReportPage>('GET', path, undefined, { signal })
    newest = page.data.at(-1) ?? newest
    if (!page.next_cursor) return newest
    after = page.next_cursor
  }
}

const shown = (text: string, id: string): string =>
  text.length <= shownLength
    ? text
    : `${text.slice(0, shownLength)}\n[… ${text.length - shownLength} characters follow: svc ["node", "reports", "${id}"] shows all …]`

const interruptNode = async (session: NodeSession, id: string, call: ToolRun): Promise<ToolResult> => {
  const options = { idempotencyKey: keyOf(session, call) }
  const path = `/v1/nodes/${id}/interrupt`
  const { interrupted } = await session.daemon.ask<NodesInterruptResponse>('POST', path, {}, options)
  return {
    output: interrupted
      ? 'Its turn is ended. It stays, and goes on with the next message.'
      : 'It was not in a turn: nothing was interrupted.',
  }
}

const cancelNode = async (session: NodeSession, id: string, call: ToolRun): Promise<ToolResult> => {
  const options = { idempotencyKey: keyOf(session, call) }
  const { canceled, spared } = await session.daemon.ask<CancelResult>('POST', `/v1/nodes/${id}/cancel`, {}, options)
  const kept = spared.length ? ` Somebody else watches these, so they go on: ${spared.join(', ')}.` : ''
  return { output: `Canceled for good: ${canceled.join(', ')}.${kept}` }
}
