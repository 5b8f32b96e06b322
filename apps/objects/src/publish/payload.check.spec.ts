import { afterAll, describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import { systemClock } from '#common/kernel/clock.js'
import { SchemaThread } from '#common/kernel/schema/schema.thread.js'
import { PayloadCheck } from './payload.check.js'
import { weightOf } from './schema.weight.js'

const thread = new SchemaThread(systemClock, pino({ level: 'silent' }))
afterAll(() => thread.close())

const differences = async (schema: Record<string, unknown>, value: unknown) =>
  new PayloadCheck(schema, thread, 'obj_1').differences({ value, text: JSON.stringify(value) })

const node = (ref: string) => ({ properties: { below: { $ref: ref } } })

describe('what a schema weighs', () => {
  it.each([
    ['nothing is asked', {}, 1],
    ['each part counts', { properties: { a: {}, b: { items: {} } }, allOf: [{}, true] }, 5],
    [
      'what a reference stands for counts each time',
      { properties: { a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' } }, $defs: { x: { type: 'string' } } },
      5,
    ],
    ['a property may have the name of a keyword', { properties: { pattern: {}, format: {}, $ref: {} } }, 4],
    ['data are no schema', { const: { pattern: '(a+)+$' }, enum: [{ format: 'x' }, 1] }, 3],
  ])('%s', (_, schema, weight) => {
    expect(weightOf(schema)).toBe(weight)
  })

  it.each([
    ['a pattern', { items: { pattern: 'a' } }],
    ['names by pattern', { patternProperties: { a: {} } }],
    ['a format', { $defs: { x: { format: 'email' } }, $ref: '#/$defs/x' }],
    ['each compared with each', { uniqueItems: true }],
    ['recursion to the root', { anyOf: [node('#'), node('#')] }],
    ['recursion by a definition', { $ref: '#/$defs/n', $defs: { n: { oneOf: [node('#/$defs/n')] } } }],
    ['what is answered later', { $async: true, type: 'string' }],
    ['a reference elsewhere', { $ref: 'https://example.com/x' }],
    ['a reference to nothing', { $ref: '#/$defs/none' }],
    [
      'doubling at each step',
      Object.assign(
        { $ref: '#/$defs/20' },
        {
          $defs: Object.fromEntries(
            Array.from({ length: 21 }, (_, n) => [
              n,
              n === 0 ? {} : { allOf: [{ $ref: `#/$defs/${n - 1}` }, { $ref: `#/$defs/${n - 1}` }] },
            ]),
          ),
        },
      ),
    ],
  ])('has no bound: %s', (_, schema) => {
    expect(weightOf(schema)).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('a payload', () => {
  const schema = { type: 'object', properties: { 'a/b': { type: 'integer' }, c: { enum: ['x'] } }, required: ['c'] }

  it('that fits has no differences, at once', () => {
    const check = new PayloadCheck(schema, thread, 'obj_1')
    expect(check.differences({ value: { c: 'x' }, text: '{"c":"x"}' })).toEqual([])
  })

  it('is told each difference with its place', async () => {
    expect(await differences(schema, { 'a/b': 1.5, c: 'y' })).toEqual([
      { pointer: '/a~1b', message: 'must be integer' },
      { pointer: '/c', message: 'must be equal to one of the allowed values' },
    ])
  })

  it('that is large is told the first difference, one that is small no more than can be read', async () => {
    const numbers = { items: { type: 'string' } }
    expect(
      await differences(
        numbers,
        Array.from({ length: 20_000 }, () => 1),
      ),
    ).toHaveLength(1)
    expect(
      await differences(
        numbers,
        Array.from({ length: 1000 }, () => 1),
      ),
    ).toHaveLength(50)
  })

  it('is held against what could take for ever in the thread, with the same answers', async () => {
    const hard = { properties: { at: { format: 'date-time' }, tags: { uniqueItems: true } } }
    expect(await differences(hard, { at: '2026-01-01T00:00:00Z', tags: [1, 2] })).toEqual([])
    expect((await differences(hard, { at: 'x', tags: [1, 1] })).map(({ pointer }) => pointer)).toEqual(['/at', '/tags'])
  })

  it('waits behind one check of another object whose payloads take for ever, not behind all of them', async () => {
    const slow = new PayloadCheck({ pattern: '^(a+)+$' }, thread, 'obj_slow')
    const value = `${'a'.repeat(40)}!`
    const hostile = { value, text: JSON.stringify(value) }
    const ends: string[] = []
    const ended = (name: string) => () => ends.push(name)
    const first = Array.from({ length: 3 }, () => Promise.resolve(slow.differences(hostile)).then(ended('slow')))
    await Promise.resolve(
      new PayloadCheck({ pattern: '^b$' }, thread, 'obj_1').differences({ value: 'b', text: '"b"' }),
    ).then(ended('quick'))
    await Promise.all(first)
    expect(ends).toEqual(['slow', 'quick', 'slow', 'slow'])
  }, 30_000)

  it.each([
    ['for a validator that answers later', { $async: true, type: 'string' }],
    ['there behind a reference', { $ref: '#/later', later: { $async: true, type: 'string' } }],
  ])('fits no schema that asks %s', async (_, schema) => {
    expect(await differences(schema, 'x')).toMatchObject([{ message: expect.stringContaining("can't be checked") }])
    expect(await differences(schema, 1)).toMatchObject([{ message: expect.stringContaining("can't be checked") }])
  })

  // each object inherits them: a field of that name was refused where it was missing, and never missed
  it.each([
    ['here', {}],
    ['in the thread', { format: 'uri' }],
  ])('has no fields but its own, also of such names as constructor, %s', async (_, more) => {
    const named = { properties: { constructor: { type: 'string' } }, ...more }
    expect(await differences(named, {})).toEqual([])
    expect(await differences(named, { constructor: 1 })).toHaveLength(1)
    expect(await differences({ required: ['toString'], ...more }, {})).toHaveLength(1)
    expect(await differences({ required: ['toString'], ...more }, { toString: 1 })).toEqual([])
  })

  it('is held against its own schema, though another has the same names in it', async () => {
    const [a, b] = ['string', 'integer'].map((type) => ({ $defs: { x: { type } }, $ref: '#/$defs/x' }))
    expect(await differences(a as Record<string, unknown>, 'x')).toEqual([])
    expect(await differences(b as Record<string, unknown>, 'x')).toHaveLength(1)
  })
})
