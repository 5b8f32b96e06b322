// TypeScript declarations of the schemas that clients meet.
import { docComment, header } from './names.mjs'

export function typesModule({ components }) {
  const texts = new Map()
  const declarations = Object.entries(components).map(([name, schema]) => {
    const text = declarationOf(name, schema)
    const plain = name.replace(/Input$/, '')
    texts.set(name, text)
    const same = plain !== name && texts.get(plain) === text.replaceAll(`${name}`, plain)
    return same ? `export type ${name} = ${plain}\n` : text
  })
  return `${header}${declarations.join('\n')}`
}

/** A page of a list: its entry's type, else undefined. */
export function entryOfPage(schema) {
  const { properties } = schema ?? {}
  const isPage = properties?.data?.type === 'array' && properties.next_cursor && properties.has_more
  return isPage ? typeOf(properties.data.items) : undefined
}

function declarationOf(name, schema) {
  const doc = docComment(facts(schema))
  const entry = entryOfPage(schema)
  // one that says more than what a page says is written out
  if (entry && Object.keys(schema.properties).length === 3)
    return `${doc}export interface ${name} {\n  data: ${arrayOf(entry)}\n  next_cursor: string | null\n  has_more: boolean\n}\n`
  const fields = Object.keys(schema.properties ?? {}).length
  return fields && !schema.additionalProperties
    ? `${doc}export interface ${name} ${objectType(schema, '')}\n`
    : `${doc}export type ${name} = ${typeOf(schema)}\n`
}

export function typeOf(schema, indent = '') {
  if (schema === undefined || schema === true) return 'unknown'
  if (schema.$ref) return schema.$ref.split('/').at(-1)
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  const branches = schema.anyOf ?? schema.oneOf
  if (branches)
    return [...new Set(branches.map((branch) => typeOf(branch, indent)))].map((type) => wrapped(type)).join(' | ')
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(' & ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ')
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return arrayOf(typeOf(schema.items, indent))
    case 'object':
      return schema.properties ? objectType(schema, indent) : recordType(schema, indent)
    default:
      return 'unknown'
  }
}

function objectType(schema, indent) {
  const inner = `${indent}  `
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const optional = schema.required?.includes(name) ? '' : '?'
    return `${docComment(facts(field), inner)}${inner}${propertyName(name)}${optional}: ${typeOf(field, inner)}\n`
  })
  return fields.length ? `{\n${fields.join('')}${indent}}` : 'Record<string, never>'
}

function recordType({ additionalProperties, propertyNames }, indent) {
  const value = additionalProperties === false ? 'never' : typeOf(additionalProperties, indent)
  return propertyNames?.enum
    ? `{ [K in ${propertyNames.enum.map(literal).join(' | ')}]?: ${value} }`
    : `Record<string, ${value}>`
}

/** Text, bounds and default of a field, for its docstring. */
export function facts({ description, minimum, maximum, minLength, maxLength, minItems, maxItems, default: preset }) {
  const bounds = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' entries'),
    preset === undefined ? '' : `default ${JSON.stringify(preset)}`,
  ].filter(Boolean)
  const said = bounds.filter((bound) => !description?.toLowerCase().includes(bound))
  const text = [...(description ? [description.replace(/[.;]$/, '')] : []), ...said].join('; ')
  return text ? [`${text}.`.replace(/^./, (first) => first.toUpperCase())] : []
}

function range(least, most, unit) {
  if (least === undefined && most === undefined) return ''
  if (most === undefined) return `at least ${least}${unit}`
  return least === undefined || least === 0 ? `at most ${most}${unit}` : `${least} to ${most}${unit}`
}

const literal = (value) => (typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value))
const propertyName = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name))
const wrapped = (type) => (type.startsWith('{ [K in') ? `(${type})` : type)
const arrayOf = (type) => (/ [|&] /.test(type) && !type.startsWith('{') ? `(${type})[]` : `${type}[]`)
