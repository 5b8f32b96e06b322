import type { Command } from 'commander'
import type { Client, Node, NodesWaitBody } from '#sdk/index.js'
import { monotonic } from '../../clock.js'
import { CommandError, UsageError } from '../../failure.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface WaitOptions {
  readonly timeout?: number
  readonly reason?: string
  readonly status?: string
}

/** The longest that the daemon holds one answer, in s. */
const longestHold = 60

export const registerWait = (node: Command, shell: Shell): void => {
  const made = command(node, 'wait [id]', {
    calls: ['nodes.wait'],
    summary: 'Wait until a node rests or has ended',
    about:
      'Inside a node and without an id: the node itself waits. It is released when its turn ends, and woken by mail or when the timeout has passed.',
    examples: [
      ['svc node wait <id>', 'until it is anything but active'],
      ['svc node wait <id> --status done,dead --timeout 600', 'until it is one of these, at most ten minutes'],
      ['svc node wait --timeout 3600 --reason "the nightly build"', 'inside a node: an hour at most'],
    ],
  })
    .option('--timeout <seconds>', 'at most so long; without it as long as it takes', wholeNumber)
    .option('--status <statuses>', 'any of these, with commas between them')
    .option('--reason <text>', 'inside a node: what for')
  performs<WaitOptions>(made, shell, async ({ client, out, json, options }, given) => {
    const id = given ?? shell.nodeId
    if (id === undefined) throw new UsageError('the id of a node is missing', 'svc node wait <id>')
    const { timeout, reason } = options
    if (id === shell.nodeId) {
      const { node } = await (await client()).nodes.wait(id, {
        ...(timeout !== undefined && { timeout }),
        ...(reason !== undefined && { reason }),
      })
      if (json) out.json(node)
      else
        out.line(
          `It waits as soon as its turn ends${node.waiting?.until ? `, until ${node.waiting.until} at the latest` : ''}.`,
        )
      return
    }
    const node = await untilThere(await client(), id, options)
    if (json) out.json(node)
    else out.line(`${node.id}  ${node.status}`)
  })
}

/** @throws CommandError when the time has passed before it has one of the statuses */
const untilThere = async (client: Client, id: string, { timeout, status }: WaitOptions): Promise<Node> => {
  const until = monotonic() + (timeout ?? Number.POSITIVE_INFINITY) * 1000
  for (;;) {
    const left = Math.max(1, Math.min(longestHold, Math.ceil((until - monotonic()) / 1000)))
    const wanted = status?.split(',') as NodesWaitBody['status']
    const { node, reached } = await client.nodes.wait(id, { timeout: left, ...(wanted && { status: wanted }) })
    if (reached) return node
    if (monotonic() >= until) throw new CommandError(`node ${id} is still ${node.status}`)
  }
}
