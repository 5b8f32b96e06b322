import type { Command } from 'commander'
import { watchRows, watchText } from '../../custom-object/object.view.js'
import { addWatchFlags, byText, type WatchFlags, watchBody, watcherOf } from '../../custom-object/watch.input.js'
import { command, performs } from '../../invocation.js'
import { entriesOf } from '../../output/paged.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerWatch = (object: Command, shell: Shell): void => {
  const made = command(object, 'watch <ref>', {
    calls: ['canvas.watches.put'],
    summary: 'Have a node, or another object, get the events of an object',
    about:
      'A node gets mail, which wakes it unless its tier is deferred; an object gets deliveries. To watch again changes how.',
    examples: [
      ['svc custom-object watch build-server --by <node> --events build.failed', 'a node, which rests until then'],
      ['svc custom-object watch build-server --by alarm', 'an object with a receiver'],
    ],
  }).option('--by <ref>', byText)
  performs<WatchFlags>(addWatchFlags(made), shell, async ({ client, out, json, options }, source = '') => {
    const put = await (await client()).canvas.watches.put(watchBody(source, options, shell))
    if (json) out.json(put)
    else out.line(watchText(put))
  })
}

export const registerUnwatch = (object: Command, shell: Shell): void => {
  const made = command(object, 'unwatch <ref>', {
    calls: ['canvas.watches.delete'],
    summary: 'Have it get them no more',
  }).option('--by <ref>', byText)
  performs<WatchFlags>(made, shell, async ({ client, out, json, options }, source = '') => {
    const watcher = watcherOf(options, shell)
    const answer = await (await client()).canvas.watches.delete({ watcher, source })
    if (json) out.json(answer)
    else out.line(`${watcher}  ${answer.removed ? `watches ${source} no more` : `did not watch ${source}`}`)
  })
}

export const registerWatchers = (object: Command, shell: Shell): void => {
  const made = command(object, 'watchers <ref>', {
    calls: ['canvas.watches.list'],
    summary: 'Who watches an object, and what it watches itself',
  })
  performs(made, shell, async ({ client, out, json }, ref = '') => {
    const { watches } = (await client()).canvas
    const [watched_by, watching] = [
      await entriesOf(watches.list({ source: ref, limit: 200 })),
      await entriesOf(watches.list({ watcher: ref, limit: 200 })),
    ]
    if (json) return out.json({ watches: watching, watched_by })
    if (watching.length + watched_by.length === 0) return out.line('It watches nothing, and nobody watches it.')
    const rows = [...watchRows(watched_by, 'watched by'), ...watchRows(watching, 'watches')]
    out.line(table(['', 'NAME', 'EVENTS', 'TIER', 'SINCE'], rows))
  })
}
