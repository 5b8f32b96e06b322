import { z } from 'zod'
import { appRef } from './app.schema.js'
import { absolutePath, actorRef, idOf, jsonSchema, nodeId, slug, time } from './common.schema.js'
import { messageTiers } from './node.schema.js'

export const objectId = idOf('obj')
export const deliveryId = idOf('dlv')
export const eventId = idOf('evt')

export const objectLimits = {
  /** Objects of one daemon. */
  objects: 20_000,
  /** Events of one catalog. */
  events: 100,
  /** Bytes of one payload schema as JSON. */
  schemaBytes: 64 * 1024,
  /** Bytes of one payload as JSON. */
  payloadBytes: 256 * 1024,
  /** Events of one batch, and bytes of their payloads together. */
  batch: 500,
  batchBytes: 4 * 1024 * 1024,
  /** Who watches one source, and what one watcher watches. */
  watchers: 10_000,
  watched: 1000,
  /** Unacknowledged deliveries of one receiver: unless it says otherwise, and at most. */
  pending: 100_000,
  pendingAtMost: 1_000_000,
  /** Ids of one acknowledgement, or of one replay. */
  ids: 1000,
} as const

export const objectRef = z
  .union([objectId, slug])
  .meta({ description: 'Name or id of an object', examples: ['build-server'] })

export const eventName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/, 'must be a name of letters, digits and _ . : / -')
  .meta({ examples: ['build.failed'] })

export const declaredEvent = z
  .strictObject({
    event: eventName,
    description: z.string().max(2000).default(''),
    payload_schema: jsonSchema.default({}).meta({ description: 'What a payload must fit; `{}` takes any JSON value' }),
  })
  .meta({ id: 'DeclaredEvent' })
export type DeclaredEvent = z.infer<typeof declaredEvent>

const catalog = z.array(declaredEvent).max(objectLimits.events).meta({ description: 'Events that it may publish' })

const pendingBound = z.int().min(1).max(objectLimits.pendingAtMost)
const boundSays = 'Unacknowledged deliveries that may wait for it; then what it watches can publish no more'
const maxPending = pendingBound.default(objectLimits.pending).meta({ description: boundSays })
const keptPending = pendingBound.optional().meta({
  description: `${boundSays}. Left out: as many as before, ${objectLimits.pending} where there was no receiver`,
})

/** Of a URL that is one but for its port. */
const withoutPort = (text: string): string | undefined => /^(https?:\/\/[^/?#]*):\d+(?=[/?#]|$)/i.exec(text)?.[1]

const urlFault = (given: unknown): string =>
  typeof given === 'string' && URL.canParse(withoutPort(given) ?? '')
    ? 'must have a port of at most 65535'
    : 'must be an http or https URL'

const httpUrl = z
  .url({ protocol: /^https?$/, error: ({ input }) => urlFault(input) })
  .max(2048)
  .refine((text) => {
    // what is no URL was refused before
    const { username = '', password = '', hash = '' } = URL.parse(text) ?? {}
    return username === '' && password === '' && hash === ''
  }, 'must carry neither a user nor a password nor a fragment')
  // which reading a URL passes over in silence
  .refine((text) => !/[\p{Cc}\s]/u.test(text), 'must hold neither white space nor control characters')

/** What the system passes to a program ends at the first U+0000. */
const argument = z
  .string()
  .max(8192)
  .refine((text) => !text.includes('\0'), 'may not hold the character U+0000')

const receiverWith = <Bound extends z.ZodType>(max_pending: Bound) =>
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('queue'), max_pending }),
    z.strictObject({
      type: z.literal('url'),
      url: httpUrl,
      allow_private: z.boolean().default(false).meta({
        description: 'Whether it may be at an address of this machine or of a private network',
      }),
      max_pending,
    }),
    z.strictObject({
      type: z.literal('argv'),
      argv: z
        .array(argument)
        .min(1)
        .max(64)
        .refine(([program]) => program !== '', 'must begin with a program')
        .meta({ description: 'Program and arguments; it is given the event as JSON on its standard input' }),
      cwd: absolutePath.optional(),
      env: z.record(z.string().regex(/^[A-Za-z_]\w{0,127}$/), argument).optional(),
      max_pending,
    }),
  ])

const receiverSays = 'How what it watches reaches it: pulled by a consumer, or sent by the daemon'
export const receiver = receiverWith(maxPending).meta({ id: 'Receiver', description: receiverSays })
export type Receiver = z.infer<typeof receiver>

/** Of an object that may have one already: how many may wait stays, unless it is named. */
export const receiverChange = receiverWith(keptPending).meta({ id: 'ReceiverChange', description: receiverSays })
export type ReceiverChange = z.infer<typeof receiverChange>

/** Why nothing is sent to a receiver. `gone`: it answered 410. `dead`: one delivery ran out of tries. */
export const holdReasons = ['asked', 'gone', 'dead'] as const

export const receiverState = z
  .object({
    status: z.enum(['active', 'paused']),
    reason: z.enum(holdReasons).nullable().meta({ description: 'Why it is paused' }),
    paused_at: time.nullable(),
    pending: z.int().min(0).meta({ description: 'Deliveries that are not acknowledged, dead ones included' }),
    failed: z.int().min(0).meta({ description: 'Of these: tried, and to be tried again' }),
    dead: z.int().min(0).meta({ description: 'Of these: given up, until somebody replays or acknowledges them' }),
  })
  .meta({ id: 'ReceiverState' })

const watchEvents = z
  .array(z.string().min(1).max(128))
  .min(1)
  .max(100)
  .nullable()
  .default(null)
  .meta({ description: 'Only these events; null: each' })

/** A node or an object, as a watch names it. */
export const partyRef = z
  .union([nodeId, objectId, slug])
  .meta({ description: 'Id of a node, or name or id of an object' })

export const objectBody = z.strictObject({
  name: slug,
  description: z.string().max(4000).default(''),
  catalog: catalog.default([]),
  receiver: receiver.nullable().default(null),
  app: appRef.optional().meta({ description: 'The application that it belongs to, whose nodes see it' }),
  watches: z
    .array(z.strictObject({ source: partyRef, events: watchEvents }))
    .max(100)
    .default([])
    .meta({ description: 'What it watches from the start' }),
  rotate: z.boolean().default(false).meta({
    description:
      'When the name is taken already: bring that object to this body, and give it a new publish token in the place of its own',
  }),
})
export type ObjectBody = z.infer<typeof objectBody>

export const objectUpdate = z.strictObject({
  description: z.string().max(4000).optional(),
  catalog: catalog.optional(),
  receiver: receiverChange.nullable().optional(),
  if_match: z.int().optional().meta({ description: 'The version that this was decided on; another one is refused' }),
  force: z.boolean().default(false).meta({ description: 'Make a change of the catalog although it is incompatible' }),
})
export type ObjectUpdate = z.infer<typeof objectUpdate>

export const customObject = z
  .object({
    id: objectId,
    name: z.string(),
    description: z.string(),
    catalog: z.array(declaredEvent),
    catalog_version: z.int().min(1).meta({ description: 'Raised by each change of the catalog' }),
    receiver: receiver.nullable().meta({
      description: 'To others than the owner: of a `url` its origin, of `argv` its program',
    }),
    receiver_state: receiverState.nullable(),
    watchers: z.int().min(0).meta({ description: 'How many nodes and objects watch it' }),
    published: z.int().min(0).meta({ description: 'Events that it has published' }),
    app_id: z.string().nullable(),
    created_by: actorRef,
    version: z.int().min(1),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'CustomObject' })
export type CustomObject = z.infer<typeof customObject>

export const signingSecret = z.string().nullable().meta({
  description:
    'Of a `url` receiver: what its deliveries are signed with (Standard Webhooks), in the first answer alone; a new one by `customObjects.rotate`',
})

export const registeredObject = customObject
  .extend({
    publish_token: z.string().nullable().meta({
      description:
        'Publishes events of this object and nothing else. In the first answer alone: a repetition of the request gets null, and a new one by `customObjects.rotate`',
    }),
    signing_secret: signingSecret,
  })
  .meta({ id: 'RegisteredObject' })
export type RegisteredObject = z.infer<typeof registeredObject>

const dedupeKey = z.string().min(1).max(255).meta({
  description: 'Names what happened outside: of the same key only the first is accepted, for 24 hours',
})

export const published = z.strictObject({
  event: eventName,
  payload: z.unknown(),
  dedupe_key: dedupeKey.optional(),
})
export type Published = z.infer<typeof published>

export const acceptance = z
  .object({
    event_id: eventId,
    seq: z.int().min(1).meta({ description: "Position among the object's own events" }),
    accepted_at: time,
    duplicate: z.boolean().meta({ description: 'Whether it was accepted before, under the same `dedupe_key`' }),
  })
  .meta({ id: 'Acceptance', description: 'The event is durable, and goes to whoever watches the object' })
export type Acceptance = z.infer<typeof acceptance>

export const objectEvent = z
  .object({
    id: eventId,
    object_ref: objectId,
    seq: z.int().min(1),
    event: z.string(),
    payload: z.unknown(),
    published_by: actorRef,
    accepted_at: time,
    trace_id: z
      .string()
      .nullable()
      .meta({ description: 'W3C trace of the request, or of the slot of a schedule, that published it' }),
  })
  .meta({ id: 'ObjectEvent' })
export type ObjectEvent = z.infer<typeof objectEvent>

export const deliveryStates = ['pending', 'acked', 'failed', 'dead'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export const delivery = z
  .object({
    id: deliveryId,
    object_ref: z.string().meta({ description: 'Id of the object, or of the node, that it goes to' }),
    source_ref: z.string().meta({ description: 'Id of the object, or of the node, whose event it is' }),
    source_name: z.string().nullable().meta({ description: 'Null of a node, and of an object that is gone' }),
    event_id: z.string(),
    event: z.string(),
    payload: z.unknown(),
    seq: z.int().min(1).meta({ description: 'Position among the deliveries of this receiver: 1, 2, 3 …' }),
    attempt: z.int().min(0).meta({ description: 'Tries that failed so far; 0 of a queue' }),
    state: z.enum(deliveryStates),
    created_at: time,
    next_attempt_at: time.nullable(),
    last_error: z.string().nullable().meta({ description: 'How the last try failed' }),
    trace_id: z.string().nullable().meta({ description: 'W3C trace of the publication; null of an event of a node' }),
  })
  .meta({ id: 'Delivery' })
export type Delivery = z.infer<typeof delivery>

/** Events of nodes that can be watched: their reports, their questions and how they live. */
export const watchableNodeEvents = [
  'report.pushed',
  'result.submitted',
  'question.asked',
  'question.resolved',
  'node.idle',
  'node.done',
  'node.dead',
  'node.canceled',
  'node.revived',
  'node.fault',
  'node.fault_cleared',
  'node.recycled',
  'node.relaunched',
] as const

export const watchBody = z.strictObject({
  watcher: partyRef,
  source: partyRef,
  events: watchEvents,
  tier: z.enum(messageTiers).default('normal').meta({
    description:
      'Of a node that watches: the tier of its mail. `deferred` never wakes it. It says nothing of an object',
  }),
})

export const watch = z
  .object({
    watcher: z.string(),
    watcher_name: z.string().nullable(),
    source: z.string(),
    source_name: z.string().nullable(),
    events: z.array(z.string()).nullable(),
    tier: z.enum(messageTiers),
    created_by: actorRef,
    created_at: time,
  })
  .meta({ id: 'Watch' })
export type Watch = z.infer<typeof watch>
