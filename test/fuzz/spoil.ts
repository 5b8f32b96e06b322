import type { Random } from '../chaos/random.js'
import type { Json } from './sample.js'

const nested = (depth: number): Json => {
  let value: Json = []
  for (let level = 0; level < depth; level += 1) value = level % 2 ? [value] : { a: value }
  return value
}

/** Values that some reader somewhere takes badly. */
const nasties: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  -(2 ** 63),
  2 ** 31,
  '',
  ' ',
  '0',
  '-1',
  'NaN',
  'null',
  'x'.repeat(300),
  '\0',
  'a\0b',
  '\ud800',
  'a\udfff\ud83d',
  '\u202e\ufeff\uffff',
  '../../etc/passwd',
  '/',
  '//..//',
  '/proc/self/fd/0',
  '%s%n%00',
  "'; DROP TABLE nodes; --",
  '$(false)`false`',
  '{"$ref":"#"}',
  'constructor',
  '__proto__',
  'node_',
  'node_zzzzzzzzzzzzzzzzzzzzzzzzzz',
  'node_01jd0000000000000000000000',
  '2026-02-30T25:61:61.000Z',
  'svc:',
  'svc:act',
  'svc:everything',
  [],
  [[]],
  [null],
  {},
  { '': '' },
  { a: { b: { c: [{}] } } },
  { $ref: 'http://127.0.0.1:9/schema' },
  { $ref: '#' },
  { type: 'no-such-type' },
  { pattern: '(' },
  { toJSON: 1, valueOf: null, constructor: {}, hasOwnProperty: 1 },
  nested(100),
]

/** The same, and so large that it takes its time on the wire. */
const large: readonly Json[] = ['x'.repeat(40_000), 'é'.repeat(90_000), Array.from({ length: 3000 }, (_, at) => at)]

export const nastyOf = (random: Random): Json => random.pick(random.next() < 0.02 ? large : nasties)

type Path = readonly (string | number)[]

const pathsOf = (value: Json, at: Path = []): Path[] => {
  if (typeof value !== 'object' || value === null) return [at]
  const inner = Array.isArray(value)
    ? value.flatMap((item, index) => pathsOf(item, [...at, index]))
    : Object.entries(value).flatMap(([name, item]) => pathsOf(item, [...at, name]))
  return [at, ...inner]
}

const put = (value: Json, [key, ...rest]: Path, become: (old: Json | undefined) => Json | undefined): Json => {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, Json>
  const old = copy[key as string]
  const next = rest.length ? put(old as Json, rest, become) : become(old)
  if (next !== undefined) copy[key as string] = next
  else delete copy[key as string]
  return copy as Json
}

/** One place of a value, chosen by chance, holds something else, or is missing, or is there under another name. */
export const spoiled = (value: Json, random: Random): Json => {
  const path = random.pick(pathsOf(value))
  const nasty = nastyOf(random)
  if (!path.length) return nasty
  switch (random.between(0, 5)) {
    case 0:
      return put(value, path, () => undefined)
    case 1:
      return put(value, path, (old) => [old ?? null])
    case 2:
      return put(value, [...path.slice(0, -1), `${path.at(-1)}_`], () => nasty)
    default:
      return put(value, path, () => nasty)
  }
}
