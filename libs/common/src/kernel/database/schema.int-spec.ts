import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { mailKinds, toolCallStatuses } from '../../contract/broker.schema.js'
import { passageKinds } from '../../contract/history.schema.js'
import { humanRequestStatuses } from '../../contract/human.schema.js'
import { jobStatuses } from '../../contract/job.schema.js'
import { messageTiers, nodeIntents, nodeStatuses, reportKinds } from '../../contract/node.schema.js'

/** Columns as both sides state them: `schema.table.column type nullable`. */
type Column = string

const types: Record<string, string> = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Boolean: 'boolean',
  Bytes: 'bytea',
}
const nativeTypes: Record<string, string> = {
  '@db.Date': 'date',
  '@db.Json': 'json',
  '@db.Timestamptz(3)': 'timestamp(3) with time zone',
  '@db.Decimal(20, 10)': 'numeric(20,10)',
}

const columnOf = (line: string, table: string): Column[] => {
  const field = /^\s+(\w+)\s+(\w+)(\[\])?(\?)?(.*)$/.exec(line)
  if (!field || field[5]?.includes('@relation')) return []
  const [, name, type = '', list = '', optional, rest = ''] = field
  const native = /@db\.\w+(\([^)]*\))?/.exec(rest)?.[0]
  const unsupported = /^\s+\w+\s+Unsupported\("(\w+)"\)/.exec(line)?.[1]
  const sql = unsupported ?? (native ? nativeTypes[native] : types[type])
  const column = /@map\("(\w+)"\)/.exec(rest)?.[1] ?? name
  return sql ? [`${table}.${column} ${sql}${list} ${optional ? 'null' : 'not null'}`] : []
}

const stated = (text: string): Column[] =>
  [...text.matchAll(/^model \w+ \{\n([\s\S]*?)\n\}/gm)].flatMap(([, body = '']) => {
    const table = `${/@@schema\("(\w+)"\)/.exec(body)?.[1]}.${/@@map\("(\w+)"\)/.exec(body)?.[1]}`
    return body.split('\n').flatMap((line) => columnOf(line, table))
  })

let store: TestDatabase
beforeAll(async () => {
  store = await testDatabase()
})
afterAll(() => store.drop())

describe('prisma/schema.prisma and the migrations', () => {
  it('state the same tables and columns', async () => {
    const rows = await store.query<{ column: Column }>(`
      SELECT format('%s.%s.%s %s %s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN 'not null' ELSE 'null' END) AS column
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname IN ('canvas', 'gateway', 'models', 'objects', 'scheduler') AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped`)
    const inPrisma = stated(readFileSync('prisma/schema.prisma', 'utf8'))
    expect(inPrisma.length).toBeGreaterThan(150)
    expect(inPrisma.sort()).toEqual(rows.map((row) => row.column).sort())
  })

  it.each([
    ['nodes_status_check', nodeStatuses],
    ['nodes_intent_check', nodeIntents],
    ['mail_tier_check', messageTiers],
    ['mail_kind_check', mailKinds],
    ['reports_kind_check', reportKinds],
    ['tool_calls_status_check', toolCallStatuses],
    ['jobs_status_check', jobStatuses],
    ['passages_kind_check', passageKinds],
    ['human_requests_status_check', humanRequestStatuses],
  ] as const)('let %s hold what the contract names', async (constraint, names) => {
    const [row] = await store.query<{ text: string }>(
      'SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = $1',
      [constraint],
    )
    expect([...(row?.text ?? '').matchAll(/'(\w+)'/g)].map(([, name]) => name)).toEqual([...names])
  })
})
