import type { Command } from 'commander'
import { given } from '../../canvas/given.js'
import { eventTable } from '../../custom-object/delivery.view.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { type PagedOptions, printPaged } from '../../output/paged.js'
import type { Shell } from '../../shell.js'

interface EventsOptions extends PagedOptions {
  readonly event?: string
}

export const registerEvents = (object: Command, shell: Shell): void => {
  const made = command(object, 'events <ref>', {
    calls: ['customObjects.events.list'],
    summary: 'What an object has published, newest first',
    examples: [['svc custom-object events build-server --event build.failed --json', 'with whole payloads']],
  })
    .option('--event <name>', 'only these')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<EventsOptions>(made, shell, async (call, ref = '') => {
    const query = given(call.options, 'event', 'after', 'limit')
    await printPaged(call, (await call.client()).customObjects.events.list(ref, query), eventTable)
  })
}
