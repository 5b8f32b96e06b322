import { describe, expect, it } from '@jest/globals'
import ts from 'typescript'
import { newId } from '#common/kernel/ids.js'
import { catalogTypes } from './catalog.types.js'
import type { ObjectRecord } from './object.record.js'

type Schema = Record<string, unknown>

const typesOf = (...schemas: Schema[]): string =>
  catalogTypes({
    id: newId('obj'),
    name: 'build-server',
    catalog_version: 3,
    catalog: schemas.map((payload_schema, at) => ({ event: `e${at}`, description: '', payload_schema })),
  } as unknown as ObjectRecord)

/** What the compiler says of the types with these lines behind them. */
const faults = (text: string): string[] => {
  const host = ts.createCompilerHost({})
  const source = ts.createSourceFile('t.ts', text, ts.ScriptTarget.ES2022)
  const { getSourceFile } = host
  host.getSourceFile = (name, ...rest) => (name === 't.ts' ? source : getSourceFile.call(host, name, ...rest))
  const program = ts.createProgram(['t.ts'], { strict: true, noEmit: true, types: [], lib: ['lib.es2022.d.ts'] }, host)
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}
/** Which of these values, as they are written, are of the type of the schema. */
const taken = (schema: Schema, ...values: string[]): boolean[] => {
  const text = typesOf(schema)
  const lines = values.map((value, at) => `export const v${at}: E0 = ${value}`)
  return lines.map((line) => faults(`${text}\n${line}`).length === 0)
}

describe('types of a catalog', () => {
  it('name each payload, and the event that it comes with', () => {
    const text = typesOf({ type: 'object', properties: { ref: { type: 'string' } }, required: ['ref'] }, {})
    const use = `
      export const seen = (event: Event): string => (event.event === 'e0' ? event.payload.ref : String(event.payload))`
    expect(text).toContain('// Events of build-server, version 3 of its catalog')
    expect(faults(text + use)).toEqual([])
    expect(faults(`${text}\nexport const wrong: Events['e0'] = {}`)).toHaveLength(1)
  })

  it.each<[string, Schema, string[], boolean[]]>([
    ['anything', {}, ['1', 'null', '{}'], [true, true, true]],
    ['scalars', { type: ['integer', 'null'] }, ['1', 'null', '"x"'], [true, true, false]],
    ['values', { enum: ['a', 1, null, { b: [true] }] }, ['"a"', '{ b: [true] }', '"c"'], [true, true, false]],
    ['one value', { const: -1.5 }, ['-1.5', '2'], [true, false]],
    [
      'closed objects',
      { type: 'object', properties: { 'a-b': { type: 'string' } }, additionalProperties: false },
      ['{ "a-b": "x" }', '{}', '{ c: 1 }'],
      [true, true, false],
    ],
    ['open objects', { properties: { a: { type: 'string' } } }, ['{ a: "x", c: 1 }', '{ a: 1 }'], [true, false]],
    ['what is owed and not described', { type: 'object', required: ['a'] }, ['{ a: 1 }', '{}'], [true, false]],
    [
      'dictionaries',
      { type: 'object', additionalProperties: { type: 'number' } },
      ['{ a: 1 }', '{ a: "x" }'],
      [true, false],
    ],
    ['lists', { type: 'array', items: { type: 'string' } }, ['["a"]', '[1]'], [true, false]],
    [
      'tuples',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 1, items: false },
      ['["a"]', '["a", 1]', '["a", 1, 2]', '[]'],
      [true, true, false, false],
    ],
    [
      'alternatives',
      { oneOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'number' } } }] },
      ['"x"', '{ a: 1 }', '1'],
      [true, true, false],
    ],
    [
      'what several say',
      {
        allOf: [
          { type: 'object', required: ['a'] },
          { type: 'object', properties: { a: { type: 'string' } } },
        ],
      },
      ['{ a: "x" }', '{ a: 1 }'],
      [true, false],
    ],
    [
      'references',
      { $defs: { who: { type: 'string' } }, type: 'object', properties: { by: { $ref: '#/$defs/who' } } },
      ['{ by: "x" }', '{ by: 1 }'],
      [true, false],
    ],
    [
      'themselves',
      { type: 'object', properties: { next: { $ref: '#' }, n: { type: 'number' } } },
      ['{ next: { next: { n: 1 } } }', '{ next: { n: "x" } }'],
      [true, false],
    ],
    [
      'a circle of references as anything',
      { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'string' }] } } },
      ['"x"', '1'],
      [true, true],
    ],
    [
      'what leads elsewhere as anything',
      { type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } },
      ['{ a: 1 }'],
      [true],
    ],
  ])('tell %s', (_what, schema, values, expected) => {
    expect(taken(schema, ...values)).toEqual(expected)
  })

  it('hold nothing but types, whatever names and words say', () => {
    const text = typesOf({
      tsType: 'string; evil()',
      type: 'object',
      description: '*/ evil() /*',
      properties: { '"; evil(); "': { description: 'x\u2028*/ evil()', type: 'string' }, __proto__: { type: 'null' } },
    })
    expect(faults(text)).toEqual([])
    const source = ts.createSourceFile('t.ts', text, ts.ScriptTarget.ES2022)
    expect(source.statements.every((statement) => ts.isTypeAliasDeclaration(statement))).toBe(true)
  })

  it('of events with names alike are told apart', () => {
    const catalog = ['a.b', 'a-b', 'event', '1st', 'array'].map((event) => ({
      event,
      description: '',
      payload_schema: {},
    }))
    const text = catalogTypes({ name: 'x', catalog, catalog_version: 1 } as unknown as ObjectRecord)
    expect(faults(text)).toEqual([])
    expect(text).toMatch(/"a\.b": AB\n {2}"a-b": AB2\n {2}"event": Event2\n {2}"1st": Type1st\n {2}"array": Array\n/)
  })

  it('of a schema that unfolds without end are cut off', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `d${at}`,
        { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
      ]),
    )
    expect(typesOf({ $ref: '#/$defs/d0', $defs }).length).toBeLessThan(10_000)
  })
})
