import type { Command } from 'commander'
import type { ObjectBody, RegisteredObject } from '#sdk/index.js'
import { type CatalogFlags, catalogText, declaredEvents, eventText } from '../../custom-object/catalog.input.js'
import { objectText } from '../../custom-object/object.view.js'
import { addReceiverFlags, type ReceiverFlags, receiverOf } from '../../custom-object/receiver.input.js'
import { secretLines, tokenLines } from '../../custom-object/secret.text.js'
import { watchedBy } from '../../custom-object/watch.input.js'
import { UsageError } from '../../failure.js'
import { repeated } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface RegisterOptions extends CatalogFlags, ReceiverFlags {
  readonly description?: string
  readonly watch?: readonly string[]
  readonly app?: string
  readonly rotate?: boolean
}

export const registerRegister = (object: Command, shell: Shell): void => {
  const made = command(object, 'register <name>', {
    calls: ['customObjects.register'],
    summary: 'Register an object: events that it may publish, and what it watches',
    about: `Whoever holds its publish token can publish those events, and do nothing else. The token is printed this once.

What it watches reaches it by one receiver: --queue (a consumer of yours asks for it), --url (it is sent as a signed webhook, again
and again until it is taken) or a program after -- (run for each event, which it reads as JSON on its standard input; exit code 0
takes it).`,
    examples: [
      [
        'svc custom-object register build-server --event build.failed=failed.schema.json',
        'what events come from outside',
      ],
      ['svc custom-object register alarm --watch build-server=build.failed --queue', 'a queue for a consumer of yours'],
      ['svc custom-object register chat --watch <node>=report.pushed --url https://chat.example/hook', 'a webhook'],
      ['svc custom-object register lamp --watch build-server -- ./lamp.sh red', 'a program for each event'],
      [
        'svc custom-object register build-server --catalog events.json --rotate',
        'what is there, anew, with a new token',
      ],
    ],
  })
    .option('--description <text>', 'what it stands for')
    .option('--app <app>', 'the application that it belongs to, whose nodes see it')
    .option('--rotate', 'when the name is taken: bring that object to this, with a new publish token')
  made.optionsGroup('What it publishes:').option('--event <name[=schema]>', eventText, repeated)
  made.option('--catalog <file>', catalogText)
  made
    .optionsGroup('What it watches, and its receiver:')
    .option(
      '--watch <source[=events]>',
      'a node or an object, maybe only these events of it; may be repeated, also for one source',
      repeated,
    )
  addReceiverFlags(made, '100000')
  performs<RegisterOptions>(made.optionsGroup('Options:'), shell, async ({ client, out, json, options }, name = '') => {
    const body = await bodyOf(name, options, shell.trailing)
    const registered = await (await client()).customObjects.register(body)
    if (json) return out.json(registered)
    out.line(objectText(registered))
    out.line()
    for (const line of onceShown(registered)) out.line(line)
    for (const line of nextSteps(registered)) out.note(`next: ${line}`)
  })
}

const bodyOf = async (name: string, options: RegisterOptions, trailing: readonly string[]): Promise<ObjectBody> => {
  const { description, watch, app, rotate } = options
  const receiver = receiverOf(options, trailing, process.cwd())
  if (options.maxPending !== undefined && !receiver) {
    throw new UsageError('--max-pending says nothing here', 'it goes with --queue, --url or a program after --')
  }
  const watches = watchedBy(watch)
  const catalog = await declaredEvents(options)
  return {
    name,
    ...(description !== undefined && { description }),
    ...(catalog && { catalog }),
    ...(receiver && { receiver }),
    ...(app !== undefined && { app }),
    ...(watches.length > 0 && { watches }),
    ...(rotate && { rotate: true }),
  }
}

const nextSteps = ({ name, catalog, receiver }: RegisteredObject): string[] => [
  ...(catalog.length ? [`svc canvas watch ${name} --by <node>: it gets mail when one of its events comes`] : []),
  ...(receiver?.type === 'queue' ? [`svc custom-object receive ${name} --ack`] : []),
  ...(receiver !== null ? [`svc canvas watch <source> --by ${name}: it is given what happens there, too`] : []),
]

const onceShown = ({ name, publish_token, signing_secret, receiver }: RegisteredObject): string[] => [
  ...tokenLines(name, publish_token),
  ...(receiver?.type === 'url' ? secretLines(name, signing_secret) : []),
]
