type Schema = Readonly<Record<string, unknown>>

/** Keywords whose value is a schema, a list of them, or one under each name. */
const single = [
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const listed = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const named = ['dependentSchemas', 'properties']
/** What takes more than linear time with some value, or has effects elsewhere in the schema. */
const hostile = [
  '$anchor',
  '$async',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$recursiveRef',
  'format',
  'pattern',
  'patternProperties',
  'uniqueItems',
]

/** More parts than this are not counted any further. */
const most = 10_000

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const valuesOf = (value: unknown): unknown[] => (isSchema(value) ? Object.values(value) : [])

const partsOf = (schema: Schema): unknown[] => [
  ...single.map((keyword) => schema[keyword]),
  ...listed.flatMap((keyword) => schema[keyword]),
  ...named.flatMap((keyword) => valuesOf(schema[keyword])),
]

/** What `#/…` stands for in a schema. */
const resolve = (root: Schema, ref: unknown): unknown => {
  if (typeof ref !== 'string' || !/^#(\/[^%]*)?$/.test(ref)) return undefined
  const steps = ref.split('/').slice(1)
  let at: unknown = root
  for (const step of steps) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined
  }
  return at
}

/**
 * How many parts of a schema one place of a value can be held against: a bound for the work that a value makes, whoever
 * wrote it. Infinity where there is no such bound: patterns that backtrack, comparisons of each with each, and recursion,
 * whose branches double with each level of the value.
 */
export const weightOf = (root: Schema): number => {
  let weight = 0
  const weigh = (part: unknown, above: readonly unknown[]): boolean => {
    if (!isSchema(part)) return true
    weight += 1 + (Array.isArray(part.enum) ? part.enum.length : 0)
    if (weight > most || above.includes(part) || hostile.some((keyword) => keyword in part)) return false
    const within = [...above, part]
    if ('$ref' in part) {
      const meant = resolve(root, part.$ref)
      if (meant === undefined || !weigh(meant, within)) return false
    }
    return partsOf(part).every((each) => weigh(each, within))
  }
  return weigh(root, []) ? weight : Number.POSITIVE_INFINITY
}
