// From zod to JSON Schema, with one name for each schema that the contract exports or that an operation states.
import { z } from 'zod'
import { pascal } from './names.mjs'

const prefix = '#/components/schemas/'
const isZod = (value) => Boolean(value?._zod)
const isNamed = (value) => isZod(value) && ['object', 'union'].includes(value._zod.def.type)

/**
 * What is sent (input: defaults may be left out) and what is answered (output: defaults are filled in) differ, so each
 * schema has two readings. Where both are used and differ, the sent one is called `<Name>Input`.
 */
export function collectSchemas(contract) {
  const names = nameAll(contract)
  const readings = { input: convert(names, 'input'), output: convert(names, 'output') }
  const roots = { input: new Set(), output: new Set() }
  const clientOperations = contract.operations.filter(({ kind }) => kind !== 'internal')
  for (const { body, response, item } of clientOperations) {
    if (body) roots.input.add(names.get(body))
    for (const schema of [response, item]) if (schema) roots.output.add(names.get(schema))
  }
  const used = { input: reach(readings.input, roots.input), output: reach(readings.output, roots.output) }
  const twofold = differing(readings, used)
  const inputName = (name) => (twofold.has(name) ? `${name}Input` : name)

  const components = {}
  for (const name of used.output) components[name] = readings.output[name]
  for (const name of used.input) {
    components[inputName(name)] = mapRefs(readings.input[name], (ref) => prefix + inputName(ref.slice(prefix.length)))
  }
  return {
    components: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
    /** Name of what this operation's body, response or item is called in the client's types. */
    nameOf: (schema, reading) => (reading === 'input' ? inputName(names.get(schema)) : names.get(schema)),
    refOf(schema, reading) {
      return { $ref: prefix + this.nameOf(schema, reading) }
    },
  }
}

/** Fields of a query or a path, each with its schema and whether it must be given. */
export function fieldsOf(schema) {
  if (!schema) return []
  const { properties = {}, required = [] } = tidy(
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
    'input',
  )
  return Object.entries(properties).map(([name, field]) => ({ name, schema: field, required: required.includes(name) }))
}

function nameAll(contract) {
  const names = new Map()
  for (const [name, value] of Object.entries(contract)) {
    if (isNamed(value) && !names.has(value)) names.set(value, value.meta()?.id ?? pascal(name))
  }
  for (const { name, kind, body, response, item } of contract.operations) {
    if (kind === 'internal') continue
    for (const [role, schema] of Object.entries({ Body: body, Response: response, Item: item })) {
      if (schema && !names.has(schema)) names.set(schema, schema.meta()?.id ?? pascal(name) + role)
    }
  }
  return names
}

function convert(names, io) {
  const registry = z.registry()
  for (const [schema, id] of names) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, { io, unrepresentable: 'any', uri: (id) => prefix + id })
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, tidy(schema, io)]))
}

/**
 * An answer may grow fields, so it is open; RFC 3339 needs no pattern beside its format; flags in a query are booleans to
 * a client; `$id` and `$schema` are the document's matter.
 */
function tidy(node, io) {
  if (Array.isArray(node)) return node.map((entry) => tidy(entry, io))
  if (typeof node !== 'object' || node === null) return node
  const out = {}
  for (const [key, value] of Object.entries(node)) {
    if (key === '$id' || key === '$schema' || key === 'id') continue
    if (key === 'additionalProperties' && value === false && io === 'output') continue
    if (key === 'pattern' && (node.format === 'date-time' || node.format === 'uri')) continue
    if (key === 'propertyNames' && Object.keys(value).join() === 'type') continue
    if ((key === 'minimum' || key === 'maximum') && Math.abs(value) === Number.MAX_SAFE_INTEGER) continue
    out[key] = key === 'properties' ? tidyProperties(value, io) : tidy(value, io)
  }
  if (out.enum?.join() === 'true,false') return { ...out, type: 'boolean', enum: undefined }
  return out
}

function tidyProperties(properties, io) {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, tidy(schema, io)]))
}

function refsIn(node, found = new Set()) {
  if (Array.isArray(node)) for (const entry of node) refsIn(entry, found)
  else if (typeof node === 'object' && node !== null) {
    if (typeof node.$ref === 'string') found.add(node.$ref.slice(prefix.length))
    for (const value of Object.values(node)) refsIn(value, found)
  }
  return found
}

function reach(schemas, roots) {
  const seen = new Set()
  const queue = [...roots]
  for (let name = queue.pop(); name; name = queue.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    queue.push(...refsIn(schemas[name]))
  }
  return seen
}

/** Names used both ways whose readings differ, themselves or in what they refer to. */
function differing({ input, output }, used) {
  const both = [...used.input].filter((name) => used.output.has(name))
  const found = new Set(both.filter((name) => JSON.stringify(input[name]) !== JSON.stringify(output[name])))
  for (let grew = true; grew; ) {
    const more = both.filter((name) => !found.has(name) && [...refsIn(input[name])].some((ref) => found.has(ref)))
    for (const name of more) found.add(name)
    grew = more.length > 0
  }
  return found
}

function mapRefs(node, rename) {
  if (Array.isArray(node)) return node.map((entry) => mapRefs(entry, rename))
  if (typeof node !== 'object' || node === null) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, key === '$ref' ? rename(value) : mapRefs(value, rename)]),
  )
}
