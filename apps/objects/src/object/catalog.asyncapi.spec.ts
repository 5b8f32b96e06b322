import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from '@jest/globals'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { contract } from '#common/contract/index.js'
import { delivery, published } from '#common/contract/object.schema.js'
import { newId } from '#common/kernel/ids.js'
import { catalogAsyncApi } from './catalog.asyncapi.js'
import type { ObjectRecord } from './object.record.js'

interface Operation {
  readonly action: string
  readonly channel: { readonly $ref: string }
  readonly bindings: { readonly http: { readonly method: string } }
}
type Properties = Readonly<Record<string, { readonly $ref?: string }>>

const routes = Object.values(contract).flatMap((each) => (each.kind === 'route' ? [`${each.method} ${each.path}`] : []))

const schema = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json'), 'utf8'),
)
const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false })
ajvFormats.default(ajv)
const validate = ajv.compile(schema)

const documentOf = (catalog: ObjectRecord['catalog'], description = ''): Record<string, unknown> =>
  catalogAsyncApi({
    id: newId('obj'),
    name: 'build-server',
    description,
    catalog,
    catalog_version: 4,
  } as unknown as ObjectRecord)

/** What a JSON pointer in a URI fragment leads to. */
const follow = (document: unknown, ref: string): unknown =>
  decodeURIComponent(ref.slice(2))
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document)

describe('the AsyncAPI document of a catalog', () => {
  it.each<[string, ObjectRecord['catalog']]>([
    ['no event', []],
    [
      'events with any name',
      ['a', 'build/failed:x.y', 'a~b', '100%'].map((event) => ({
        event,
        description: 'said',
        payload_schema: { type: 'object', $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } },
      })),
    ],
  ])('is valid with %s', (_what, catalog) => {
    validate(documentOf(catalog, 'builds'))
    expect(validate.errors ?? []).toEqual([])
  })

  it('names each event with its schema, under the version of the catalog', () => {
    const payload_schema = { type: 'object' }
    const document = documentOf([{ event: 'build/failed', description: 'said', payload_schema }])
    expect(document).toMatchObject({ info: { title: 'build-server', version: '4.0.0' } })
    for (const operation of ['publish', 'deliver']) {
      const ref = follow(document, `#/operations/${operation}/messages/0/$ref`) as string
      const message = follow(document, ref)
      expect(message).toMatchObject({ name: 'build/failed', description: 'said', contentType: 'application/json' })
      const { properties } = (message as { payload: { schema: { properties: Properties } } }).payload.schema
      expect(properties.event).toEqual({ const: 'build/failed' })
      expect(follow(document, properties.payload?.$ref as string)).toMatchObject(payload_schema)
    }
  })

  it('leads to routes that there are: where its events are published, and where whoever watches it receives them', () => {
    const document = documentOf([{ event: 'a', description: '', payload_schema: {} }])
    const reached = Object.entries(document.operations as Record<string, Operation>).map(
      ([name, { action, channel, bindings }]) => {
        const { address } = follow(document, channel.$ref) as { address: string }
        return [name, action, bindings.http.method, address]
      },
    )
    expect(reached).toEqual([
      ['publish', 'receive', 'POST', '/v1/custom-objects/build-server/publish'],
      ['deliver', 'send', 'GET', '/v1/custom-objects/{watcher}/receive'],
    ])
    const ofRoutes = reached.map(([, , method, address]) => `${method} ${address?.replace(/[^/]+(?=\/\w+$)/, '{ref}')}`)
    expect(routes).toEqual(expect.arrayContaining(ofRoutes))
  })

  it('describes what is sent as the contract has it', () => {
    const $defs = { number: { type: 'integer' } }
    const payload_schema = { type: 'object', required: ['id'], properties: { id: { $ref: '#/$defs/number' } }, $defs }
    const document = documentOf([{ event: 'a', description: '', payload_schema }])
    const fits = (operation: string, value: unknown): boolean => {
      const all = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false }).addSchema(
        document,
        'https://all.example/',
      )
      return all.validate(`https://all.example/#/channels/${operation}/messages/a/payload/schema`, value)
    }
    const event = { event: 'a', payload: { id: 1 } }
    expect(published.safeParse(event).success).toBe(true)
    expect([fits('publish', event), fits('publish', { ...event, dedupe_key: 'x' })]).toEqual([true, true])
    expect([fits('publish', { ...event, payload: {} }), fits('publish', { ...event, event: 'b' })]).toEqual([
      false,
      false,
    ])
    const sent = { id: 'dlv_1', event_id: 'evt_1', seq: 1, source_ref: 'obj_1', created_at: '', ...event }
    expect([fits('deliver', sent), fits('deliver', { ...sent, payload: { id: 'x' } })]).toEqual([true, false])
    expect(Object.keys(delivery.shape)).toEqual(expect.arrayContaining(Object.keys(sent)))
  })
})
