import { expect, it } from '@jest/globals'
import { z } from 'zod'
import { contract } from './index.js'

interface Schema {
  readonly type?: unknown
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly [part: string]: unknown
}

const column = 2_147_483_647

/** Places in a schema where an integer is taken that fits no column of whole numbers. */
const boundless = (schema: Schema, at: string): string[] => {
  const own = schema.type === 'integer' && (schema.maximum ?? Number.POSITIVE_INFINITY) > column ? [at] : []
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => boundless(field, `${at}/${name}`))
  const parts = [schema.items, schema.anyOf, schema.oneOf, schema.allOf].flat().filter((part) => part !== undefined)
  return [...own, ...fields, ...parts.flatMap((part) => boundless(part as Schema, at))]
}

/** Compared or kept as JSON, never written to such a column. */
const known =
  /(if_match|if_version|older_than|retry_after_ms|\/duration_ms|\/exit_code|\/kept|deltas\/(generation|message|offset)|journal\/from|readJournal\/from|output\/offset|files\.read\/offset|audit\.list\/since_seq|grant\.get\/since|customObjects\.receive\/after)$/

// A turn that no column holds was a fault of the daemon, not of the request.
it('every integer that a client sends fits its column, or is compared only', () => {
  const found = Object.values(contract).flatMap((entry) =>
    (['params', 'query', 'body'] as const).flatMap((part) => {
      const schema = entry.kind !== 'internal' && part in entry ? (entry as Record<string, unknown>)[part] : undefined
      if (!schema) return []
      return boundless(
        z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' }) as Schema,
        entry.name,
      )
    }),
  )
  expect(found.filter((at) => !known.test(at))).toEqual([])
})
