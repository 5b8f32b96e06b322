import type { DeclaredEvent } from '#common/contract/object.schema.js'
import type { ObjectRecord } from './object.record.js'

const format = 'application/schema+json;version=2020-12'
const bearer = (description: string) => [{ type: 'http', scheme: 'bearer', description }]
const http = (method: string) => ({ http: { method, bindingVersion: '0.3.0' } })

const token = (name: string): string => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

const text = (description: string) => ({ type: 'string', description })

/** What is sent besides an event and its payload. */
interface Envelope {
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
  readonly optional?: Readonly<Record<string, unknown>>
}

const given: Envelope = {
  optional: { dedupe_key: text('Of the same key only the first is accepted, for 24 hours') },
}
const delivered: Envelope = {
  before: {
    id: text('Of the delivery, the same each time that it comes; it is acknowledged by it'),
    seq: { type: 'integer', description: 'Position among the deliveries of this receiver' },
    source_ref: text('Id of this object'),
    event_id: text('Of the event'),
  },
  after: { created_at: { type: 'string', format: 'date-time' } },
}

const schemaName = (at: number): string => `event-${at + 1}`

const messagesOf = (catalog: readonly DeclaredEvent[], { before, after, optional }: Envelope) =>
  Object.fromEntries(
    catalog.map(({ event, description }, at) => {
      const always = {
        ...before,
        event: { const: event },
        payload: { $ref: `#/components/schemas/${schemaName(at)}/schema` },
        ...after,
      }
      const schema = { type: 'object', properties: { ...always, ...optional }, required: Object.keys(always) }
      return [
        event,
        {
          name: event,
          contentType: 'application/json',
          ...(description !== '' && { description }),
          payload: { schemaFormat: format, schema },
        },
      ]
    }),
  )

const partOf = (channel: string, catalog: readonly DeclaredEvent[]) => ({
  channel: { $ref: `#/channels/${channel}` },
  messages: catalog.map(({ event }) => ({ $ref: `#/channels/${channel}/messages/${token(event)}` })),
})

/**
 * A catalog as an AsyncAPI 3.0 document of the daemon: it receives each event of the object where that is published, and sends
 * it to every queue that watches the object.
 */
export const catalogAsyncApi = (object: ObjectRecord): Record<string, unknown> => {
  const { id, name, description, catalog, catalog_version } = object
  const payloads = catalog.map(({ event, payload_schema }, at) => {
    // of its own, so that references in it lead to itself and not into this document
    const schema = { $id: `urn:svc:${id}:${catalog_version}:${encodeURIComponent(event)}`, ...payload_schema }
    return [schemaName(at), { schemaFormat: format, schema }]
  })
  return {
    asyncapi: '3.0.0',
    info: { title: name, version: `${catalog_version}.0.0`, ...(description !== '' && { description }) },
    defaultContentType: 'application/json',
    channels: {
      publish: { address: `/v1/custom-objects/${name}/publish`, messages: messagesOf(catalog, given) },
      deliver: {
        address: '/v1/custom-objects/{watcher}/receive',
        description: 'Server-sent events, named `delivery`',
        parameters: { watcher: { description: 'Name or id of an object that watches this one, with a queue' } },
        messages: messagesOf(catalog, delivered),
      },
    },
    operations: {
      publish: {
        action: 'receive',
        summary: 'An event is published, by one request each',
        ...partOf('publish', catalog),
        security: bearer('The publish token of the object'),
        bindings: http('POST'),
      },
      deliver: {
        action: 'send',
        summary: 'Whoever receives for a watching object is sent each event until it is acknowledged',
        ...partOf('deliver', catalog),
        security: bearer("The owner's token"),
        bindings: http('GET'),
      },
    },
    components: { schemas: Object.fromEntries(payloads) },
  }
}
