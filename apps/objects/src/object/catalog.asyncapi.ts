import type { ObjectRecord } from './object.record.js'

const channel = 'events'
const format = 'application/schema+json;version=2020-12'

const pointerTo = (event: string): string =>
  `#/channels/${channel}/messages/${encodeURIComponent(event.replaceAll('~', '~0').replaceAll('/', '~1'))}`

/** A catalog as an AsyncAPI 3.0 document: the object sends each of its events to whoever watches it. */
export const catalogAsyncApi = (object: ObjectRecord): Record<string, unknown> => {
  const { id, name, description, catalog, catalog_version } = object
  const messages = catalog.map(({ event, description: said, payload_schema }) => [
    event,
    {
      name: event,
      contentType: 'application/json',
      ...(said !== '' && { description: said }),
      // of its own, so that references in it lead to itself and not into this document
      payload: {
        schemaFormat: format,
        schema: { $id: `urn:svc:${id}:${catalog_version}:${encodeURIComponent(event)}`, ...payload_schema },
      },
    },
  ])
  return {
    asyncapi: '3.0.0',
    info: { title: name, version: `${catalog_version}.0.0`, ...(description !== '' && { description }) },
    defaultContentType: 'application/json',
    channels: { [channel]: { address: `/v1/custom-objects/${name}/events`, messages: Object.fromEntries(messages) } },
    operations: {
      publish: {
        action: 'send',
        channel: { $ref: `#/channels/${channel}` },
        messages: catalog.map(({ event }) => ({ $ref: pointerTo(event) })),
      },
    },
  }
}
