import type { Command } from 'commander'
import type { NodeEvent } from '#sdk/index.js'
import { command, performs } from '../../invocation.js'
import { hasEnded } from '../../node/ended.js'
import { eventLine } from '../../node/event.line.js'
import type { Shell } from '../../shell.js'

interface EventsOptions {
  readonly after?: string
  readonly follow?: boolean
}

export const registerEvents = (node: Command, shell: Shell): void => {
  const made = command(node, 'events <id>', {
    calls: ['nodes.events'],
    summary: 'Read the durable events of a node, from the first one',
    examples: [
      ['svc node events <id>', 'what is recorded'],
      ['svc node events <id> --follow --json', 'and what comes, one event a line'],
      ['svc node events <id> --after 42', 'those after number 42'],
    ],
  })
    .option('--after <seq>', 'only those after this one')
    .option('-f, --follow', 'go on with new ones until the node ends')
  performs<EventsOptions>(made, shell, async ({ client, out, json, options }, id = '') => {
    const svc = await client()
    const feed = svc.nodes.events(id, {}, options.after === undefined ? {} : { after: options.after })
    const events: AsyncIterable<NodeEvent> = options.follow ? feed : feed.recorded()
    for await (const event of events) {
      if (json) out.record(event)
      else {
        const head = `${String(event.seq).padStart(4)}  ${event.time.slice(11, 23)}  ${event.type}`
        const line = eventLine(event.type, event.data, out)
        out.line(line ? `${head}  ${line.replaceAll('\n', ' ')}` : head)
      }
      if (options.follow && (await hasEnded(svc, id, event))) break
    }
  })
}
