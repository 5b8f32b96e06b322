import type { Command } from 'commander'
import { given } from '../../canvas/given.js'
import { eventTable } from '../../custom-object/delivery.view.js'
import { CommandError, UsageError } from '../../failure.js'
import { wholeNumber } from '../../input.js'
import { command, type Invocation, performs } from '../../invocation.js'
import { type PagedOptions, printPaged } from '../../output/paged.js'
import type { Shell } from '../../shell.js'

interface EventsOptions extends PagedOptions {
  readonly event?: string
  readonly id?: string
}

const others = ['event', 'after', 'limit', 'all'] as const

/** @throws CommandError when it is not kept */
const printOne = async (call: Invocation<EventsOptions>, ref: string, id: string): Promise<void> => {
  const besides = others.filter((name) => call.options[name] !== undefined)
  if (besides.length) throw new UsageError(`--id names one event, and goes without --${besides.join(', --')}`)
  const { data } = await (await call.client()).customObjects.events.list(ref, { id }).page
  const [event] = data
  if (!event) throw new CommandError(`${ref} has no event ${id}, or has it no more`, keptFor)
  if (call.json) call.out.json(event)
  else call.out.line(JSON.stringify(event.payload, null, 2))
}

const keptFor = 'events are kept for 30 days unless SVC_KEEP_DELIVERIES_DAYS says otherwise; --all lists those that are'

export const registerEvents = (object: Command, shell: Shell): void => {
  const made = command(object, 'events <ref>', {
    calls: ['customObjects.events.list'],
    summary: 'What an object has published, newest first',
    examples: [
      ['svc custom-object events build-server --event build.failed --json', 'with whole payloads'],
      ['svc custom-object events build-server --id evt_…', 'the whole payload of one'],
    ],
  })
    .option('--event <name>', 'only these')
    .option('--id <event>', 'the whole payload of this one, as JSON')
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<EventsOptions>(made, shell, async (call, ref = '') => {
    if (call.options.id !== undefined) return printOne(call, ref, call.options.id)
    const query = given(call.options, 'event', 'after', 'limit')
    await printPaged(call, (await call.client()).customObjects.events.list(ref, query), eventTable)
  })
}
