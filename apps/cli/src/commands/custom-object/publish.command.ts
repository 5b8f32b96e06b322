import type { Command } from 'commander'
import type { Acceptance } from '#sdk/index.js'
import { LinePublisher } from '../../custom-object/line.publisher.js'
import { UsageError } from '../../failure.js'
import { jsonOf } from '../../input.js'
import { command, type Invocation, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface PublishOptions {
  readonly payload?: string
  readonly dedupeKey?: string
  readonly lines?: boolean
}

export const registerPublish = (object: Command, shell: Shell): void => {
  const made = command(object, 'publish <ref> [event]', {
    calls: ['customObjects.publish'],
    mayCall: ['customObjects.publishBatch'],
    summary: 'Publish an event of an object to whoever watches it',
    about: `With your own token, or with the publish token of the object in SVC_TOKEN. What is accepted is durable, and reaches whoever
watches at least once.

With --lines it waits out a daemon that restarts once that has taken a line, and a limit of requests; a full queue of whoever
watches ends it. When it ends early it says which lines are published. A "dedupe_key" in each makes it safe to send them again.`,
    examples: [
      [`svc custom-object publish build-server build.failed --payload '{"id": 7}'`, 'one event'],
      [
        'svc custom-object publish build-server build.failed --payload @build.json --dedupe-key build-7',
        'once in 24 hours',
      ],
      ['tail -f builds.ndjson | svc custom-object publish build-server build.failed --lines', 'each line is a payload'],
      ['svc custom-object publish build-server --lines < events.ndjson', 'each line is {"event": …, "payload": …}'],
    ],
  })
    .option('--payload <json>', 'its payload, @file, or "-" for standard input; {} unless given')
    .option('--dedupe-key <key>', 'what happened outside: of the same key only the first is accepted, for 24 hours')
    .option('--lines', 'publish each line of standard input, in their order')
  performs<PublishOptions>(made, shell, async (call, ref = '', event) => {
    if (call.options.lines) await publishLines(call, ref, event)
    else await publishOne(call, ref, event)
  })
}

const publishOne = async (call: Invocation<PublishOptions>, ref: string, event: string | undefined): Promise<void> => {
  const { payload, dedupeKey } = call.options
  if (event === undefined) {
    throw new UsageError('which event is missing', `svc custom-object publish ${ref} <event>; show lists those of it`)
  }
  const body = {
    event,
    payload: payload === undefined ? {} : await jsonOf(payload, '--payload'),
    ...(dedupeKey !== undefined && { dedupe_key: dedupeKey }),
  }
  const accepted = await (await call.client()).customObjects.publish(ref, body)
  if (call.json) return call.out.json(accepted)
  call.out.line(accepted.event_id)
  call.out.note(
    accepted.duplicate
      ? `accepted before under this key, at ${accepted.accepted_at}: it is not published again`
      : `accepted: number ${accepted.seq} of its events`,
  )
}

const publishLines = async (
  call: Invocation<PublishOptions>,
  ref: string,
  event: string | undefined,
): Promise<void> => {
  const { payload, dedupeKey } = call.options
  const stray = payload !== undefined ? '--payload' : dedupeKey !== undefined ? '--dedupe-key' : undefined
  if (stray) throw new UsageError(`${stray} says nothing here`, 'with --lines each line says it for itself')
  const shown = (one: Acceptance) => (call.json ? call.out.record(one) : undefined)
  const publisher = new LinePublisher(await call.client(), ref, event, shown, call.out)
  await publisher.publish()
  const { published, duplicates } = publisher.counts
  if (!call.json) call.out.line(`${published} accepted${duplicates ? `, ${duplicates} of them had been before` : ''}`)
}
