import type { Command } from 'commander'
import type { Client, CustomObject, CustomObjectsUpdateResponse, ObjectUpdate } from '#sdk/index.js'
import { type CatalogFlags, catalogText, declaredEvents, eventsOf } from '../../custom-object/catalog.input.js'
import { objectText } from '../../custom-object/object.view.js'
import { addReceiverFlags, type ReceiverFlags, receiverOf } from '../../custom-object/receiver.input.js'
import { secretLines } from '../../custom-object/secret.text.js'
import { UsageError } from '../../failure.js'
import { repeated, wholeNumber } from '../../input.js'
import { command, type Invocation, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface UpdateOptions extends CatalogFlags, ReceiverFlags {
  readonly description?: string
  readonly dropEvent?: readonly string[]
  readonly receiver?: false
  readonly ifMatch?: number
  readonly force?: boolean
}

/** The object as it is, read once: what is changed of it fits one version. */
type Present = () => Promise<CustomObject>

export const registerUpdate = (object: Command, shell: Shell): void => {
  const made = command(object, 'update <ref>', {
    calls: ['customObjects.update'],
    mayCall: ['customObjects.retrieve'],
    summary: 'Change the description, the events or the receiver of an object',
    about: `Events may be added, and optional fields of payloads. What would break who publishes or who receives is refused, with each
difference named, unless --force is given. A receiver of another kind takes over what is not acknowledged, and as many may wait for it
as before unless --max-pending says otherwise.`,
    examples: [
      ['svc custom-object update build-server --event build.skipped', 'it may publish one more'],
      ['svc custom-object update alarm --url https://pager.example/hook', 'what waits in its queue is sent there'],
      ['svc custom-object update alarm --max-pending 500000', 'more may wait for the receiver that it has'],
      ['svc custom-object update build-server --drop-event build.started --force', 'whoever counts on it or not'],
    ],
  })
    .option('--description <text>', 'what it stands for')
    .option('--if-match <version>', 'only if it is at this version', wholeNumber)
    .option('--force', 'change its events although that breaks somebody')
  made
    .optionsGroup('What it publishes:')
    .option(
      '--event <name[=schema]>',
      'this event too; one that is there keeps its schema unless one is named; may be repeated',
      repeated,
    )
    .option('--drop-event <name>', 'this event no more; may be repeated', repeated)
    .option('--catalog <file>', catalogText)
  addReceiverFlags(made.optionsGroup('Its receiver:'), 'as many as before').option(
    '--no-receiver',
    'it is given nothing more; have it unwatch all first, and acknowledge what waits',
  )
  performs<UpdateOptions>(made.optionsGroup('Options:'), shell, async (call, ref = '') => {
    const client = await call.client()
    const updated = await client.customObjects.update(ref, await bodyOf(call, client, ref))
    if (call.json) call.out.json(updated)
    else for (const line of textOf(updated)) call.out.line(line)
  })
}

const bodyOf = async ({ options, shell }: Invocation<UpdateOptions>, client: Client, ref: string) => {
  const { description, ifMatch, force } = options
  const receiver = receiverOf(options, shell.trailing, process.cwd())
  if ((receiver || options.maxPending !== undefined) && options.receiver === false) {
    throw new UsageError('there are a receiver and --no-receiver')
  }
  let read: Promise<CustomObject> | undefined
  const present = (): Promise<CustomObject> => {
    read ??= client.customObjects.retrieve(ref)
    return read
  }
  const body: ObjectUpdate = {
    ...(description !== undefined && { description }),
    ...(await catalogOf(options, ref, present)),
    ...(receiver ? { receiver } : await resized(options, ref, present)),
    ...(options.receiver === false && { receiver: null }),
    ...(ifMatch !== undefined && { if_match: ifMatch }),
  }
  if (!Object.keys(body).some((field) => field !== 'if_match')) {
    throw new UsageError('nothing is to be changed', 'name what: --description, --event, --url and others (--help)')
  }
  return { ...body, ...(force && { force }) }
}

/** The receiver that is there, for which more or fewer may wait: only if nobody changes it meanwhile. */
const resized = async ({ maxPending }: UpdateOptions, ref: string, present: Present): Promise<ObjectUpdate> => {
  if (maxPending === undefined) return {}
  const { receiver, version } = await present()
  if (receiver === null) {
    throw new UsageError(`${ref} has no receiver`, '--max-pending goes with --queue, --url or a program after --')
  }
  return { receiver: { ...receiver, max_pending: maxPending }, if_match: version }
}

/** A whole catalog, or the one that is there with some events changed: then only if nobody changes it meanwhile. */
const catalogOf = async (options: UpdateOptions, ref: string, present: Present): Promise<ObjectUpdate> => {
  const { catalog, event, dropEvent = [] } = options
  if (catalog !== undefined) {
    if (event || dropEvent.length)
      throw new UsageError('--catalog names all events: --event and --drop-event go without it')
    return { catalog: (await declaredEvents({ catalog })) ?? [] }
  }
  if (!event && !dropEvent.length) return {}
  const changed = await eventsOf(event)
  const { catalog: declared, version } = await present()
  const strange = dropEvent.find((name) => !declared.some((one) => one.event === name))
  if (strange !== undefined) {
    throw new UsageError(`${ref} declares no ${strange}`, `it declares ${declared.map((one) => one.event).join(', ')}`)
  }
  const replaced = new Map(changed.map((one) => [one.event, one]))
  const kept = declared.filter((one) => !dropEvent.includes(one.event))
  const known = new Set(declared.map((one) => one.event))
  return {
    catalog: [
      ...kept.map((one) => ({ ...one, ...replaced.get(one.event) })),
      ...changed.filter((one) => !known.has(one.event)),
    ],
    if_match: version,
  }
}

const textOf = (updated: CustomObjectsUpdateResponse): string[] => [
  objectText(updated),
  ...(updated.signing_secret === null ? [] : ['', ...secretLines(updated.name, updated.signing_secret)]),
]
