import { describe, expect, it } from '@jest/globals'
import type { DeclaredEvent } from '#common/contract/object.schema.js'
import { catalogDifferences } from './catalog.compatibility.js'

type Schema = Record<string, unknown>

const entry = (event: string, payload_schema: Schema, description = ''): DeclaredEvent => ({
  event,
  description,
  payload_schema,
})
/** What changes for one event, as `pointer breaks`. */
const changes = (before: Schema, after: Schema): string[] =>
  catalogDifferences([entry('built', before)], [entry('built', after)]).map(
    ({ pointer, breaks }) => `${pointer} ${breaks.join('+')}`,
  )
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more })
const text = { type: 'string' }

describe('a new catalog', () => {
  it('may declare more events, and describe them in other words', () => {
    const before = [entry('built', object({ ref: text }), 'done')]
    const after = [
      entry('built', object({ ref: { ...text, description: 'a branch', examples: ['x'] } })),
      entry('new', {}),
    ]
    expect(catalogDifferences(before, after)).toEqual([])
  })

  it('says of each event that it drops whom that breaks', () => {
    expect(catalogDifferences([entry('a', {}), entry('b', {})], [entry('b', {})])).toEqual([
      { event: 'a', pointer: '', breaks: ['publishers', 'receivers'], message: expect.stringContaining('"a"') },
    ])
  })

  it('may let payloads have more optional properties where more were allowed', () => {
    expect(changes(object({ a: text }), object({ a: text, b: { type: 'number' } }))).toEqual([])
    expect(changes(object({ a: object({}) }), object({ a: object({ b: text }) }))).toEqual([])
    const closed = { additionalProperties: false }
    expect(changes(object({ a: text }, closed), object({ a: text, b: text }, closed))).toEqual([
      '/properties/b receivers',
    ])
    expect(
      changes(
        object({}, { additionalProperties: text }),
        object({ b: { type: 'number' } }, { additionalProperties: text }),
      ),
    ).toEqual(['/properties/b publishers+receivers'])
  })

  it.each<[string, Schema, Schema, string[]]>([
    ['a property that goes', object({ a: text }), object({}), ['/properties/a publishers+receivers']],
    [
      'a property that is owed',
      object({ a: text }),
      object({ a: text }, { required: ['a'] }),
      ['/required publishers'],
    ],
    [
      'one that is owed no more',
      object({ a: text }, { required: ['a'] }),
      object({ a: text }),
      ['/required receivers'],
    ],
    [
      'another type',
      object({ a: text }),
      object({ a: { type: 'number' } }),
      ['/properties/a/type publishers', '/properties/a/type receivers'],
    ],
    ['one more type', text, { type: ['string', 'null'] }, ['/type receivers']],
    ['a narrower number', { type: 'number' }, { type: 'integer' }, ['/type publishers']],
    ['a value more', { enum: ['a'] }, { enum: ['a', 'b'] }, ['/enum receivers']],
    ['a value less', { enum: ['a', 'b'] }, { enum: ['b'] }, ['/enum publishers']],
    ['no list of values any more', { enum: ['a'] }, {}, ['/enum receivers']],
    ['a lower bound', { maxLength: 5 }, { maxLength: 4 }, ['/maxLength publishers']],
    ['a higher bound', { maxLength: 5 }, { maxLength: 6 }, ['/maxLength receivers']],
    ['a new bound', {}, { minimum: 1 }, ['/minimum publishers']],
    ['no bound any more', { minimum: 1 }, {}, ['/minimum receivers']],
    ['another pattern', { pattern: 'a' }, { pattern: 'b' }, ['/pattern publishers+receivers']],
    ['closed objects', object({}), object({}, { additionalProperties: false }), ['/additionalProperties publishers']],
    ['opened objects', object({}, { additionalProperties: false }), object({}), ['/additionalProperties receivers']],
    [
      'other entries',
      { items: text },
      { items: { type: 'null' } },
      ['/items/type publishers', '/items/type receivers'],
    ],
    ['an alternative more', { anyOf: [text] }, { anyOf: [text, { type: 'null' }] }, ['/anyOf publishers+receivers']],
    ['names with slashes', object({ 'a/b~c': text }), object({}), ['/properties/a~1b~0c publishers+receivers']],
    [
      'a definition',
      { $ref: '#/$defs/x', $defs: { x: text } },
      { $ref: '#/$defs/x', $defs: { x: { type: 'null' } } },
      ['/$defs/x/type publishers', '/$defs/x/type receivers'],
    ],
  ])('names %s', (_what, before, after, expected) => {
    expect(changes(before, after)).toEqual(expected)
  })

  it('lets annotations change within parts that are compared as they are', () => {
    const part = (title: string): Schema => ({ anyOf: [object({ title: { type: 'string', title } })] })
    expect(changes(part('a'), part('b'))).toEqual([])
    expect(changes({ anyOf: [object({ title: text })] }, { anyOf: [object({ title: false })] })).toHaveLength(1)
  })

  it('adds no property beside what judges all of them', () => {
    const rest = { allOf: [object({ b: { type: 'number' } })] }
    expect(changes(object({ a: text }, rest), object({ a: text, b: text }, rest))).toEqual([
      '/properties/b publishers+receivers',
    ])
  })

  it('adds none to what is referred to from within an alternative', () => {
    const list = (more: Schema): Schema => object({ next: { oneOf: [{ $ref: '#' }, { type: 'null' }] }, ...more })
    expect(changes(list({}), list({ b: text }))).toEqual(['/properties/b publishers+receivers'])
    const plain = (more: Schema): Schema => object({ next: { $ref: '#' }, ...more })
    expect(changes(plain({}), plain({ b: text }))).toEqual([])
  })

  it('takes lists in another order for the same', () => {
    expect(changes({ enum: [1, 2], required: ['a', 'b'] }, { required: ['b', 'a'], enum: [2, 1] })).toEqual([])
  })
})
