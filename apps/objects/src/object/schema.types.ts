type Schema = Readonly<Record<string, unknown>>

/** Parts of one schema that are spelled out; what lies behind is `unknown`. */
const mostParts = 5000
const deepest = 60

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const identifier = /^[A-Za-z_$][\w$]*$/
const keyOf = (name: string): string => (identifier.test(name) ? name : JSON.stringify(name))

/** A name for a type, out of whatever something is called. */
export const typeNameOf = (text: string): string => {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  const name = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return /^[A-Z]/.test(name) ? name : `Type${name}`
}

const indented = (text: string): string => text.replaceAll('\n', '\n  ')

/** @param text may hold anything; it can't end the comment */
export const comment = (text: unknown): string => {
  if (typeof text !== 'string' || text.trim() === '') return ''
  const lines = text
    .trim()
    .replaceAll('*/', '*\\/')
    .split(/\r\n|[\n\r\u2028\u2029]/)
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`
}

const union = (types: readonly string[]): string => {
  const each = [...new Set(types)]
  if (each.length === 0) return 'never'
  if (each.includes('unknown')) return 'unknown'
  return each.length === 1 ? (each[0] as string) : `(${each.join(' | ')})`
}

const intersection = (types: readonly string[]): string => {
  const each = [...new Set(types)].filter((type) => type !== 'unknown')
  if (each.length === 0) return 'unknown'
  return each.length === 1 ? (each[0] as string) : `(${each.join(' & ')})`
}

/** A type of TypeScript and the declarations that it needs. */
export interface SchemaTypes {
  readonly type: string
  readonly declarations: readonly string[]
}

/**
 * What fits a JSON Schema, as a type: never narrower than what the schema takes, with one exception that everybody means:
 * where `properties` are named without a `type`, the value is an object. What has no like in TypeScript (bounds, patterns,
 * conditions, references that lead elsewhere) is left out.
 *
 * @param claim gives a name that nothing else has
 */
export const typesOfSchema = (schema: Schema, claim: (wanted: string) => string): SchemaTypes =>
  new TypeWriter(schema, claim).write()

class TypeWriter {
  /** Types of what is referred to, by its pointer. */
  readonly #named = new Map<string, string>()
  readonly #declarations: string[] = []
  /** Pointers that are being spelled out where a name could refer to itself. */
  readonly #open = new Set<string>()
  #parts = 0

  constructor(
    private readonly root: Schema,
    private readonly claim: (wanted: string) => string,
  ) {}

  write(): SchemaTypes {
    return { type: this.#type(this.root, 0), declarations: this.#declarations }
  }

  /** @param within whether it stands in an object or a list, where a type may name itself */
  #type(schema: unknown, depth: number, within = false): string {
    this.#parts += 1
    if (schema === false) return 'never'
    if (!isSchema(schema) || depth > deepest || this.#parts > mostParts) return 'unknown'
    const parts = [this.#plain(schema, depth)]
    if (typeof schema.$ref === 'string') parts.push(this.#reference(schema.$ref, depth, within))
    for (const one of listOf(schema.allOf)) parts.push(this.#type(one, depth + 1, within))
    for (const keyword of ['anyOf', 'oneOf'])
      if (Array.isArray(schema[keyword]))
        parts.push(union(schema[keyword].map((one: unknown) => this.#type(one, depth + 1, within))))
    return intersection(parts)
  }

  #plain(schema: Schema, depth: number): string {
    if (Object.hasOwn(schema, 'const')) return literal(schema.const)
    if (Array.isArray(schema.enum)) return union(schema.enum.map(literal))
    const types = typeof schema.type === 'string' ? [schema.type] : listOf(schema.type)
    if (types.length > 0) return union(types.map((type) => this.#typed(type, schema, depth)))
    return isSchema(schema.properties) ? this.#object(schema, depth) : 'unknown'
  }

  #typed(type: unknown, schema: Schema, depth: number): string {
    switch (type) {
      case 'string':
      case 'number':
      case 'boolean':
      case 'null':
        return type
      case 'integer':
        return 'number'
      case 'array':
        return this.#array(schema, depth)
      case 'object':
        return this.#object(schema, depth)
      default:
        return 'unknown'
    }
  }

  #array(schema: Schema, depth: number): string {
    const rest = schema.items === false ? undefined : this.#type(schema.items ?? true, depth + 1, true)
    const first = listOf(schema.prefixItems)
    if (first.length === 0) return rest === undefined ? '[]' : `(${rest})[]`
    const least = typeof schema.minItems === 'number' ? schema.minItems : 0
    const places = first.map((one, at) => `(${this.#type(one, depth + 1, true)})${at < least ? '' : '?'}`)
    return `[${[...places, ...(rest === undefined ? [] : [`...(${rest})[]`])].join(', ')}]`
  }

  #object(schema: Schema, depth: number): string {
    const properties = isSchema(schema.properties) ? schema.properties : {}
    const required = new Set(listOf(schema.required).filter((name) => typeof name === 'string'))
    const fields = Object.entries(properties).map(([name, value]) => {
      const type = this.#type(value, depth + 1, true)
      const mark = required.has(name) ? '' : '?'
      return `${comment(isSchema(value) ? value.description : undefined)}${keyOf(name)}${mark}: ${type}`
    })
    for (const name of required) if (!Object.hasOwn(properties, name)) fields.push(`${keyOf(name)}: unknown`)
    const rest = this.#rest(schema, fields.length === 0, depth)
    const all = [...fields, ...(rest === undefined ? [] : [`[key: string]: ${rest}`])]
    if (all.length === 0) return 'Record<string, never>'
    return `{\n  ${all.map(indented).join('\n  ')}\n}`
  }

  /** Of all other properties one type can be told only where none is named: the named ones would have to be of it too. */
  #rest(schema: Schema, alone: boolean, depth: number): string | undefined {
    const { additionalProperties: rest, patternProperties } = schema
    if (patternProperties !== undefined) return 'unknown'
    if (rest === false) return undefined
    return alone && isSchema(rest) ? this.#type(rest, depth + 1, true) : 'unknown'
  }

  #reference(ref: string, depth: number, within: boolean): string {
    const target = this.#resolve(ref)
    if (target === undefined) return 'unknown'
    if (!within) return this.#spelledOut(ref, target, depth)
    const known = this.#named.get(ref)
    if (known !== undefined) return known
    const name = this.claim(ref === '#' ? 'Payload' : (ref.split('/').at(-1) as string))
    this.#named.set(ref, name)
    const described = comment(isSchema(target) ? target.description : undefined)
    this.#declarations.push(`${described}export type ${name} = ${this.#type(target, depth + 1)}`)
    return name
  }

  #spelledOut(ref: string, target: unknown, depth: number): string {
    if (this.#open.has(ref)) return 'unknown'
    this.#open.add(ref)
    const type = this.#type(target, depth + 1)
    this.#open.delete(ref)
    return type
  }

  /** What a pointer into this schema leads to. */
  #resolve(ref: string): unknown {
    if (ref === '#') return this.root
    if (!ref.startsWith('#/')) return undefined
    return ref
      .slice(2)
      .split('/')
      .map(nameOfToken)
      .reduce<unknown>(
        (at, name) =>
          typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? at[name as never] : undefined,
        this.root,
      )
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** JSON is the spelling of a type that has this one value. */
const literal = (value: unknown): string => JSON.stringify(value)

const nameOfToken = (token: string): string => {
  const plain = token.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
