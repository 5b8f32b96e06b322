import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from '@jest/globals'
import { Ajv } from 'ajv'
import ajvFormats from 'ajv-formats'
import { newId } from '#common/kernel/ids.js'
import { catalogAsyncApi } from './catalog.asyncapi.js'
import type { ObjectRecord } from './object.record.js'

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
    const document = documentOf([{ event: 'build/failed', description: '', payload_schema }])
    expect(document).toMatchObject({ info: { title: 'build-server', version: '4.0.0' } })
    const ref = follow(document, '#/operations/publish/messages/0/$ref') as string
    expect(follow(document, ref)).toMatchObject({ name: 'build/failed', payload: { schema: payload_schema } })
  })
})
