import type { Command } from 'commander'
import type { CanvasSubscriptionsDeleteResponse, Client, Page, Subscription } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { command, performs } from '../../invocation.js'
import { nodeOf } from '../../node/own.node.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface WatchOptions {
  readonly by?: string
  readonly passive?: boolean
}

const path = '/v1/canvas/subscriptions'
const by = 'the node that watches; inside a node it is this one unless given'

export const registerWatchNode = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'watch <id>', {
    calls: ['canvas.subscriptions.put'],
    summary: 'Have a node hear of another: its reports, and how it ends',
    about: 'To watch again changes how. A node with a watcher outside is spared when what is above it is canceled.',
    examples: [
      ['svc canvas watch <id> --by <watcher>', 'the watcher is woken by what happens'],
      ['svc canvas watch <id> --by <watcher> --passive', 'it finds it ahead of its next message'],
    ],
  })
    .option('--by <id>', by)
    .option('--passive', 'keep what happens for its next message, and wake it by none of it')
  performs<WatchOptions>(made, shell, async ({ client, out, json, options }, publisher = '') => {
    const body = {
      subscriber: nodeOf(options.by, shell, '--by'),
      publisher,
      mode: options.passive ? 'passive' : 'active',
    }
    const made = await (await client()).request<Subscription>('PUT', path, body)
    if (json) out.json(made)
    else out.line(`${made.subscriber}  watches ${made.publisher} (${made.mode})`)
  })
}

export const registerUnwatchNode = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'unwatch <id>', {
    calls: ['canvas.subscriptions.delete'],
    summary: 'Have a node hear of another no more',
  }).option('--by <id>', by)
  performs<WatchOptions>(made, shell, async ({ client, out, json, options }, publisher = '') => {
    const subscriber = nodeOf(options.by, shell, '--by')
    const query = new URLSearchParams({ subscriber, publisher })
    const answer = await (await client()).request<CanvasSubscriptionsDeleteResponse>('DELETE', `${path}?${query}`)
    if (json) out.json(answer)
    else out.line(`${subscriber}  ${answer.removed ? 'watches it no more' : 'did not watch it'}`)
  })
}

export const registerWatches = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'watches [id]', {
    calls: ['canvas.subscriptions.list'],
    summary: 'Whom a node watches, and who watches it',
  })
  performs(made, shell, async ({ client, out, json }, given) => {
    const id = nodeOf(given, shell)
    const svc = await client()
    const [watches, watched_by] = [await every(svc, { subscriber: id }), await every(svc, { publisher: id })]
    if (json) return out.json({ watches, watched_by })
    if (watches.length + watched_by.length === 0) return out.line('It watches nobody, and nobody watches it.')
    out.line(
      table(
        ['', 'NODE', 'MODE', 'SINCE'],
        [
          ...watches.map((one) => ['watches', one.publisher, one.mode, `${ago(one.created_at)} ago`]),
          ...watched_by.map((one) => ['watched by', one.subscriber, one.mode, `${ago(one.created_at)} ago`]),
        ],
      ),
    )
  })
}

const every = async (svc: Client, side: Record<string, string>): Promise<Subscription[]> => {
  const found: Subscription[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const query = new URLSearchParams({ ...side, limit: '200', ...(after !== undefined && { after }) })
    const page = await svc.request<Page<Subscription>>('GET', `${path}?${query}`)
    found.push(...page.data)
    after = page.next_cursor
  }
  return found
}
