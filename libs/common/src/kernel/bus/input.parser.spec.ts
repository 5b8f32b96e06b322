import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import type { Operation } from '../../contract/define.js'
import { parseInput } from './input.parser.js'

const entry = (more: Partial<Operation>): Operation => ({
  name: 'lifecycle.note',
  kind: 'internal',
  summary: '',
  service: 'lifecycle',
  ...more,
})

describe('input of an internal operation', () => {
  it('gets its defaults', () => {
    const body = z.object({ id: z.string(), limit: z.int().default(200) })
    expect(parseInput(entry({ body }), { id: 'a' })).toEqual({ id: 'a', limit: 200 })
  })

  it('is refused with a pointer to each fault', () => {
    const body = z.object({ id: z.string(), exit: z.object({ code: z.int() }) })
    const parse = (): unknown => parseInput(entry({ body }), { exit: { code: 'x' } })
    expect(parse).toThrow(
      expect.objectContaining({
        code: 'validation_failed',
        fields: {
          errors: [expect.objectContaining({ pointer: '/id' }), expect.objectContaining({ pointer: '/exit/code' })],
        },
      }),
    )
  })

  it('lacks a field that is said to be missing', () => {
    const body = z.strictObject({ payload: z.unknown(), id: z.string(), n: z.int() })
    expect(() => parseInput(entry({ body }), { n: 'x' })).toThrow(
      expect.objectContaining({
        fields: {
          errors: [
            { pointer: '/payload', message: 'is missing' },
            { pointer: '/id', message: 'is missing' },
            { pointer: '/n', message: expect.not.stringContaining('missing') },
          ],
        },
      }),
    )
  })

  it('is parsed by params, query and body, strict ones included', () => {
    const parts = { params: z.strictObject({ id: z.string() }), body: z.strictObject({ n: z.int() }) }
    expect(parseInput(entry(parts), { id: 'a', n: 1 })).toEqual({ id: 'a', n: 1 })
  })

  it('goes to a body of several shapes as a whole', () => {
    const body = z.discriminatedUnion('kind', [z.object({ kind: z.literal('a'), n: z.int() })])
    expect(parseInput(entry({ body }), { kind: 'a', n: 1 })).toEqual({ kind: 'a', n: 1 })
  })

  it('may be absent when nothing is asked for', () => {
    expect(parseInput(entry({}), undefined)).toEqual({})
  })
})
