import { isDeepStrictEqual } from 'node:util'

/** Whom a change can break. */
export type Broken = 'publishers' | 'receivers'

/** One way in which two schemas differ that somebody may notice. */
export interface SchemaDifference {
  /** JSON pointer into the schema. */
  readonly pointer: string
  readonly breaks: readonly Broken[]
  readonly message: string
}

type Schema = Readonly<Record<string, unknown>>

/** What says nothing about which values fit. */
const annotations = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  '$schema',
])

/** Keywords that judge the same value, or the same properties, as those beside them: what stands there is compared as it is. */
const entangling = [
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'dependentSchemas',
  'dependentRequired',
  'patternProperties',
  'propertyNames',
  'maxProperties',
  'unevaluatedProperties',
  'contains',
]

/** Whom it breaks when the number grows; the others when it shrinks. */
const bounds: Readonly<Record<string, Broken>> = {
  minimum: 'publishers',
  exclusiveMinimum: 'publishers',
  minLength: 'publishers',
  minItems: 'publishers',
  minProperties: 'publishers',
  maximum: 'receivers',
  exclusiveMaximum: 'receivers',
  maxLength: 'receivers',
  maxItems: 'receivers',
  maxProperties: 'receivers',
}

const both: readonly Broken[] = ['publishers', 'receivers']
const other = (side: Broken): Broken => (side === 'publishers' ? 'receivers' : 'publishers')

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `true` and no word at all mean the same as `{}`. */
const schemaOf = (value: unknown): Schema | false | undefined => {
  if (value === undefined || value === true) return {}
  if (value === false) return false
  return isSchema(value) ? value : undefined
}

const token = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
const at = (pointer: string, ...names: (string | number)[]): string =>
  [pointer, ...names.map((name) => token(String(name)))].join('/')

const ownOf = (record: Schema, name: string): unknown => (Object.hasOwn(record, name) ? record[name] : undefined)
const recordOf = (value: unknown): Schema => (isSchema(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value]
}
const has = (list: readonly unknown[], value: unknown): boolean => list.some((one) => isDeepStrictEqual(one, value))

const isAmong = (type: unknown, types: readonly unknown[]): boolean =>
  types.includes(type) || (type === 'integer' && types.includes('number'))

const isEntangled = (schema: Schema): boolean => entangling.some((keyword) => Object.hasOwn(schema, keyword))

/** A reference and nothing beside it: the value is judged by what it refers to, alone. */
const isPlainReference = (schema: Schema): boolean =>
  Object.hasOwn(schema, '$ref') && Object.keys(schema).every((key) => key === '$ref' || annotations.has(key))

/** Whether a reference stands where other keywords judge the same value: what it refers to can't be compared by itself. */
const entanglesReferences = (value: unknown, beneath = false): boolean => {
  if (Array.isArray(value)) return value.some((one) => entanglesReferences(one, beneath))
  if (!isSchema(value)) return false
  if (isPlainReference(value)) return beneath
  const here = beneath || isEntangled(value)
  if (here && (Object.hasOwn(value, '$ref') || Object.hasOwn(value, '$dynamicRef'))) return true
  return Object.entries(value).some(
    ([key, part]) => key !== 'enum' && key !== 'const' && entanglesReferences(part, key === '$defs' ? false : here),
  )
}

/**
 * How a schema differs from the one before, for those who keep to either. New optional properties are no difference where
 * properties that nobody declared were allowed: whoever sent one of that name counted on nothing. Annotations are none
 * either; anything else is one, unless both plainly take the same values.
 */
export const schemaDifferences = (before: Schema, after: Schema): SchemaDifference[] =>
  new Comparison(entanglesReferences(before) || entanglesReferences(after)).run(before, after)

class Comparison {
  readonly #found: SchemaDifference[] = []

  constructor(private readonly exact: boolean) {}

  run(before: Schema, after: Schema): SchemaDifference[] {
    this.#schema(before, after, '', this.exact)
    return this.#found
  }

  #note(pointer: string, breaks: readonly Broken[], message: string): void {
    this.#found.push({ pointer, breaks, message })
  }

  #schema(given: unknown, wanted: unknown, pointer: string, exact: boolean): void {
    const [before, after] = [schemaOf(given), schemaOf(wanted)]
    if (!before || !after) {
      if (!isDeepStrictEqual(before, after)) this.#note(pointer, both, 'It takes other values than before.')
      return
    }
    const here =
      exact || (isEntangled(before) && !isPlainReference(before)) || (isEntangled(after) && !isPlainReference(after))
    this.#types(before, after, pointer)
    this.#values(before, after, pointer)
    this.#properties(before, after, pointer, here)
    for (const keyword of ['items', 'additionalProperties'] as const) this.#part(keyword, before, after, pointer, here)
    this.#definitions(before, after, pointer)
    for (const keyword of new Set([...Object.keys(before), ...Object.keys(after)]))
      if (!annotations.has(keyword) && !handled.has(keyword)) this.#keyword(keyword, before, after, pointer)
  }

  #types(before: Schema, after: Schema, pointer: string): void {
    const [old, now] = [listOf(before.type), listOf(after.type)]
    const lost = now.length > 0 && (old.length === 0 || old.some((type) => !isAmong(type, now)))
    const gained = old.length > 0 && (now.length === 0 || now.some((type) => !isAmong(type, old)))
    if (lost)
      this.#note(at(pointer, 'type'), ['publishers'], 'Publishers that send what was allowed before are refused.')
    if (gained)
      this.#note(at(pointer, 'type'), ['receivers'], 'Receivers are given a type that they did not have to expect.')
  }

  #values(before: Schema, after: Schema, pointer: string): void {
    if (before.enum === undefined && after.enum === undefined) return
    const place = at(pointer, 'enum')
    const [old, now] = [listOf(before.enum), listOf(after.enum)]
    if (before.enum === undefined) this.#note(place, ['publishers'], 'Publishers may send none but these values now.')
    else if (after.enum === undefined)
      this.#note(place, ['receivers'], 'Receivers are given other values than these now.')
    else {
      for (const value of old.filter((one) => !has(now, one)))
        this.#note(place, ['publishers'], `Publishers that send ${shown(value)} are refused.`)
      for (const value of now.filter((one) => !has(old, one)))
        this.#note(place, ['receivers'], `Receivers that know the values so far are given ${shown(value)}.`)
    }
  }

  #properties(before: Schema, after: Schema, pointer: string, exact: boolean): void {
    const [old, now] = [recordOf(before.properties), recordOf(after.properties)]
    const [owed, owes] = [listOf(before.required), listOf(after.required)]
    for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
      const place = at(pointer, 'properties', name)
      if (!Object.hasOwn(now, name)) this.#note(place, both, `Nothing says any more what "${name}" is.`)
      else if (Object.hasOwn(old, name)) this.#schema(ownOf(old, name), ownOf(now, name), place, exact)
      else this.#added(name, before, place, exact)
    }
    for (const name of owes.filter((one) => !has(owed, one)))
      this.#note(at(pointer, 'required'), ['publishers'], `Publishers that leave out ${shown(name)} are refused.`)
    for (const name of owed.filter((one) => !has(owes, one)))
      this.#note(at(pointer, 'required'), ['receivers'], `Receivers may not find ${shown(name)} any more.`)
  }

  #added(name: string, before: Schema, place: string, exact: boolean): void {
    const rest = ownOf(before, 'additionalProperties')
    if (rest === false)
      this.#note(place, ['receivers'], `Receivers that allow no other properties than before refuse "${name}".`)
    else if (exact || !(rest === undefined || rest === true || isDeepStrictEqual(rest, {})))
      this.#note(place, both, `"${name}" was judged by another part of the schema so far.`)
  }

  #part(
    keyword: 'items' | 'additionalProperties',
    before: Schema,
    after: Schema,
    pointer: string,
    exact: boolean,
  ): void {
    if (!Object.hasOwn(before, keyword) && !Object.hasOwn(after, keyword)) return
    const [old, now] = [schemaOf(ownOf(before, keyword)), schemaOf(ownOf(after, keyword))]
    const place = at(pointer, keyword)
    if (old === false && now !== false)
      this.#note(place, ['receivers'], 'Receivers that allow nothing more may be given more.')
    else if (old !== false && now === false) this.#note(place, ['publishers'], 'Publishers that send more are refused.')
    else this.#schema(old, now, place, exact)
  }

  /** One that is not referred to matters to nobody, and a reference to another one is a difference where it stands. */
  #definitions(before: Schema, after: Schema, pointer: string): void {
    const [old, now] = [recordOf(before.$defs), recordOf(after.$defs)]
    for (const name of Object.keys(old).filter((one) => Object.hasOwn(now, one)))
      this.#schema(ownOf(old, name), ownOf(now, name), at(pointer, '$defs', name), this.exact)
  }

  #keyword(keyword: string, before: Schema, after: Schema, pointer: string): void {
    const [old, now] = [ownOf(before, keyword), ownOf(after, keyword)]
    if (isDeepStrictEqual(bare({ [keyword]: old }), bare({ [keyword]: now }))) return
    const side = bounds[keyword]
    const place = at(pointer, keyword)
    if (side && typeof old === 'number' && typeof now === 'number')
      this.#note(place, [now > old ? side : other(side)], `The bound was ${old}, and is ${now}.`)
    else if (old === undefined && keyword !== '$id')
      this.#note(place, ['publishers'], `Publishers have to keep to a new "${keyword}".`)
    else if (now === undefined && keyword !== '$id')
      this.#note(place, ['receivers'], `Receivers can't rely on "${keyword}" any more.`)
    else this.#note(place, both, `"${keyword}" is another one.`)
  }
}

const handled = new Set(['type', 'enum', 'properties', 'required', 'items', 'additionalProperties', '$defs'])

const shown = (value: unknown): string => JSON.stringify(value).slice(0, 100)

/** Where names are the author's, and no keywords. */
const named = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])

/** Without annotations. */
const bare = (value: unknown, isMap = false): unknown => {
  if (Array.isArray(value)) return value.map((one) => bare(one))
  if (!isSchema(value)) return value
  const kept = Object.entries(value).filter(([key]) => isMap || !annotations.has(key))
  return Object.fromEntries(
    kept.map(([key, part]) => [
      key,
      !isMap && (key === 'enum' || key === 'const') ? part : bare(part, !isMap && named.has(key)),
    ]),
  )
}
