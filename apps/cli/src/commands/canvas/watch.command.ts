import type { Command } from 'commander'
import type { CanvasSubscriptionsDeleteResponse, Client, Page, Subscription } from '#sdk/index.js'
import { PageList } from '#sdk/page.js'
import { ago } from '../../clock.js'
import { watchRows, watchText } from '../../custom-object/object.view.js'
import {
  addWatchFlags,
  byText,
  isNode,
  type WatchFlags,
  watchBody,
  watcherOf,
} from '../../custom-object/watch.input.js'
import { UsageError } from '../../failure.js'
import { addFeedFlags, type FeedFlags, followFeed } from '../../feed/feed.follow.js'
import { command, type Invocation, performs } from '../../invocation.js'
import { nodeOf } from '../../node/own.node.js'
import { entriesOf, queryOf } from '../../output/paged.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface WatchOptions extends WatchFlags, FeedFlags {
  readonly passive?: boolean
}

const path = '/v1/canvas/subscriptions'

export const registerWatch = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'watch [source]', {
    calls: ['canvas.events'],
    mayCall: ['canvas.subscriptions.put', 'canvas.watches.put', 'nodes.retrieve'],
    summary: 'Look at all that happens; or have a node, or an object, hear of what happens at another',
    about: `Without a source it shows what all nodes do, and which events woke them, until Ctrl-C.

With a source, a node or an object, it makes somebody hear of it: a node gets mail, which wakes it, an object gets deliveries. A node
that hears of a node is told of its reports and its end, and spares it when what is above it is canceled; with --events it is told of
these events instead. To watch again changes how.`,
    examples: [
      ['svc canvas watch --since 10m', 'the last ten minutes, and what comes'],
      ['svc canvas watch build-server --by <node> --events build.failed', 'a node rests until a build fails'],
      ['svc canvas watch <node> --by chat --events report.pushed', 'an object is given the reports of a node'],
      ['svc canvas watch <node> --by <watcher>', 'a node is woken by the reports and the end of another'],
      ['svc canvas watch <node> --by <watcher> --passive', 'it finds them ahead of its next message'],
    ],
  })
  addFeedFlags(made.optionsGroup('Without a source:'))
  addWatchFlags(made.optionsGroup('With a source:').option('--by <ref>', byText)).option(
    '--passive',
    'node by node: keep what happens for its next message, and wake it by none of it',
  )
  performs<WatchOptions>(made.optionsGroup('Options:'), shell, async (call, source) => {
    refuseStrays(call.options, source)
    if (source === undefined) await followFeed(call)
    else if (isSubscription(call, source)) await subscribe(call, source)
    else await watch(call, source)
  })
}

/** @throws UsageError for what is said of the other use of the command */
const refuseStrays = (options: WatchOptions, source: string | undefined): void => {
  const ofLook = ['types', 'under', 'since', 'after'] as const
  const ofSource = ['by', 'events', 'tier', 'passive'] as const
  const stray = (source === undefined ? ofSource : ofLook).find((name) => options[name] !== undefined)
  if (stray === undefined) return
  throw new UsageError(
    `--${stray} says nothing here`,
    source === undefined
      ? 'name the node or the object that is to be watched: svc canvas watch <source> --by <ref>'
      : 'it goes with svc canvas watch alone, without a source',
  )
}

/** Whether a node hears of another the way that nodes do among themselves. @throws UsageError */
const isSubscription = ({ options, shell }: Invocation<WatchOptions>, source: string): boolean => {
  const { events, tier, passive } = options
  const amongNodes = isNode(source) && isNode(watcherOf(options, shell))
  const filtered = events !== undefined || tier !== undefined
  if (passive && (!amongNodes || filtered)) {
    throw new UsageError('--passive says nothing here', 'mail of an event that wakes nobody has --tier deferred')
  }
  return amongNodes && !filtered
}

const subscribe = async ({ client, out, json, options, shell }: Invocation<WatchOptions>, publisher: string) => {
  const body = { subscriber: watcherOf(options, shell), publisher, mode: options.passive ? 'passive' : 'active' }
  const put = await (await client()).request<Subscription>('PUT', path, body)
  if (json) out.json(put)
  else out.line(`${put.subscriber}  watches ${put.publisher} (${put.mode})`)
}

const watch = async ({ client, out, json, options, shell }: Invocation<WatchOptions>, source: string) => {
  const put = await (await client()).canvas.watches.put(watchBody(source, options, shell))
  if (json) out.json(put)
  else out.line(watchText(put))
}

export const registerUnwatch = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'unwatch <source>', {
    calls: ['canvas.watches.delete'],
    mayCall: ['canvas.subscriptions.delete'],
    summary: 'Have a node, or an object, hear of another no more',
  }).option('--by <ref>', byText)
  performs<WatchFlags>(made, shell, async ({ client, out, json, options }, source = '') => {
    const watcher = watcherOf(options, shell)
    const svc = await client()
    const answer = await svc.canvas.watches.delete({ watcher, source })
    if (isNode(watcher) && isNode(source)) answer.removed = (await unsubscribe(svc, watcher, source)) || answer.removed
    if (json) out.json(answer)
    else out.line(`${watcher}  ${answer.removed ? `watches ${source} no more` : `did not watch ${source}`}`)
  })
}

const unsubscribe = async (svc: Client, subscriber: string, publisher: string): Promise<boolean> => {
  const query = new URLSearchParams({ subscriber, publisher })
  return (await svc.request<CanvasSubscriptionsDeleteResponse>('DELETE', `${path}?${query}`)).removed
}

export const registerWatches = (canvas: Command, shell: Shell): void => {
  const made = command(canvas, 'watches [ref]', {
    calls: ['canvas.watches.list'],
    mayCall: ['canvas.subscriptions.list'],
    summary: 'Whom a node or an object watches, and who watches it',
  })
  performs(made, shell, async ({ client, out, json }, named) => {
    const ref = named !== undefined && !isNode(named) ? named : nodeOf(named, shell)
    const svc = await client()
    const { watches: all } = svc.canvas
    const watches = await entriesOf(all.list({ watcher: ref }))
    const watched_by = await entriesOf(all.list({ source: ref }))
    const among = isNode(ref) ? await subscriptionsOf(svc, ref) : { watches: [], watched_by: [] }
    if (json) {
      return out.json({ watches: [...among.watches, ...watches], watched_by: [...among.watched_by, ...watched_by] })
    }
    const rows = [
      ...among.watches.map((one) => ['watches', one.publisher, ...howOf(one)]),
      ...watchRows(watches, 'watches'),
      ...among.watched_by.map((one) => ['watched by', one.subscriber, ...howOf(one)]),
      ...watchRows(watched_by, 'watched by'),
    ]
    if (rows.length) out.line(table(['', 'WHO', 'OF', 'HOW', 'SINCE'], rows))
    else out.line('It watches nobody, and nobody watches it.')
  })
}

const howOf = ({ mode, created_at }: Subscription): string[] => ['reports and end', mode, `${ago(created_at)} ago`]

const subscriptionsOf = async (svc: Client, node: string) => {
  const every = (side: Record<string, string>): Promise<Subscription[]> =>
    entriesOf(
      new PageList<Subscription>((after) =>
        svc.request<Page<Subscription>>('GET', `${path}${queryOf({ ...side, limit: '200' }, after)}`),
      ),
    )
  return { watches: await every({ subscriber: node }), watched_by: await every({ publisher: node }) }
}
