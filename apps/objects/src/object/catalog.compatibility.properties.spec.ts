import { describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { schemaDifferences } from './schema.compatibility.js'

type Schema = Record<string, unknown>

const names = ['a', 'b', 'c', 'd']
/** Of properties that are added: nowhere before has anybody said what they are. */
const fresh = ['m', 'n']
const leaf: fc.Arbitrary<Schema> = fc.oneof(
  fc.constantFrom<Schema>(
    {},
    { type: 'string' },
    { type: 'integer' },
    { type: 'number' },
    { type: ['string', 'null'] },
  ),
  fc.subarray(['x', 'y', 1, null], { minLength: 1 }).map((values) => ({ enum: values })),
  fc.record({ type: fc.constant('string'), maxLength: fc.nat(3) }),
  fc.record({ type: fc.constant('integer'), minimum: fc.integer({ min: -2, max: 2 }) }),
)

const objectOf = (inner: fc.Arbitrary<Schema>): fc.Arbitrary<Schema> =>
  fc
    .record({
      properties: fc.dictionary(fc.constantFrom(...names), inner, { maxKeys: 3 }),
      owed: fc.subarray(names),
      closed: fc.constantFrom<Schema>(
        {},
        { additionalProperties: false },
        { additionalProperties: { type: 'string' } },
      ),
      beside: fc.oneof(
        { weight: 5, arbitrary: fc.constant({}) },
        inner.map((one) => ({ anyOf: [one, { type: 'object' }] })),
      ),
    })
    .map(({ properties, owed, closed, beside }) => ({
      type: 'object',
      properties,
      required: owed.filter((name) => name in properties),
      ...closed,
      ...beside,
    }))

const { schema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'schema' },
    leaf,
    objectOf(tie('schema')),
    tie('schema').map((items) => ({ type: 'array', items })),
    fc.tuple(tie('schema'), tie('schema')).map(([one, other]) => ({ oneOf: [one, other] })),
    fc.tuple(tie('schema'), tie('schema')).map(([one, other]) => ({ allOf: [one, other] })),
  ),
}))

/** Somewhere in a schema one thing is said otherwise. */
const edited = (before: Schema): fc.Arbitrary<Schema> => {
  const own: fc.Arbitrary<Schema>[] = [
    fc.constant({ ...before, title: 'other words' }),
    leaf.map((other) => ({ ...before, ...other })),
    ...(before.type === 'object'
      ? [
          fc
            .tuple(fc.constantFrom(...fresh), schema)
            .map(([name, value]) => ({ ...before, properties: { [name]: value, ...(before.properties as Schema) } })),
          fc.constantFrom(...names).map((name) => {
            const { [name]: _, ...properties } = before.properties as Schema
            return { ...before, properties, required: (before.required as string[]).filter((one) => one !== name) }
          }),
          fc.subarray(names).map((required) => ({ ...before, required })),
          fc.constantFrom(true, false).map((additionalProperties) => ({ ...before, additionalProperties })),
        ]
      : []),
  ]
  for (const keyword of ['properties'])
    for (const [name, value] of Object.entries((before[keyword] ?? {}) as Record<string, Schema>))
      own.push(
        edited(value).map((part) => ({ ...before, [keyword]: { ...(before[keyword] as Schema), [name]: part } })),
      )
  if (before.items) own.push(edited(before.items as Schema).map((items) => ({ ...before, items })))
  for (const keyword of ['oneOf', 'allOf', 'anyOf'] as const)
    if (before[keyword]) {
      const [first, ...rest] = before[keyword] as Schema[]
      own.push(edited(first as Schema).map((part) => ({ ...before, [keyword]: [part, ...rest] })))
    }
  return fc.oneof(...own)
}

/** Every name that a schema declares somewhere. */
const declared = (value: unknown, found = new Set<string>()): Set<string> => {
  if (typeof value !== 'object' || value === null) return found
  for (const name of Object.keys((value as Schema).properties ?? {})) found.add(name)
  for (const part of Object.values(value)) declared(part, found)
  return found
}

/** Payloads with properties of these names alone: of others nobody has said what they are. */
const payloadOf = (allowed: readonly string[]): fc.Arbitrary<unknown> =>
  fc.letrec<{ payload: unknown }>((tie) => ({
    payload: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'payload' },
      fc.constantFrom<unknown>('x', 'y', '', 'long', 0, 1, -3, 1.5, null, true),
      fc.array(tie('payload'), { maxLength: 2 }),
      allowed.length === 0
        ? fc.constant({})
        : fc.dictionary(fc.constantFrom(...allowed), tie('payload'), { maxKeys: 3 }),
    ),
  })).payload

type Fits = (payload: unknown) => boolean
const compiled = (one: Schema): Fits => new Ajv2020({ strict: false, validateSchema: false }).compile(one)

const change = schema.chain((before) => fc.tuple(fc.constant(before), edited(before)))
const compatible = change.filter(([before, after]) => schemaDifferences(before, after).length === 0)

describe('a change that is called compatible', () => {
  it('refuses no payload of before, and lets none in that was refused', () => {
    fc.assert(
      fc.property(
        compatible.chain(([before, after]) => {
          const payloads = fc.array(payloadOf([...declared(before)]), { minLength: 10, maxLength: 20 })
          return fc.tuple(fc.constant(before), fc.constant(after), payloads)
        }),
        ([before, after, payloads]) => {
          const [old, now] = [compiled(before), compiled(after)]
          expect(payloads.filter((payload) => old(payload) !== now(payload))).toEqual([])
        },
      ),
      { numRuns: 150 },
    )
  })

  it('gives receivers that keep to the former schema nothing that they refuse', () => {
    fc.assert(
      fc.property(
        compatible,
        fc.array(payloadOf([...names, ...fresh]), { minLength: 10, maxLength: 20 }),
        ([before, after], payloads) => {
          const [old, now] = [compiled(before), compiled(after)]
          expect(payloads.filter((payload) => now(payload) && !old(payload))).toEqual([])
        },
      ),
      { numRuns: 150 },
    )
  })

  it('is what any change of words alone is', () => {
    fc.assert(
      fc.property(schema, (before) => {
        expect(schemaDifferences(before, { ...before, description: 'said otherwise' })).toEqual([])
      }),
    )
  })
})
