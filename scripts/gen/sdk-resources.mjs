// The SDK's resource classes, one a namespace, and the tree that the client hangs them in.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../files.mjs'
import { docComment, header, kebab, pascal, routesOf } from './names.mjs'
import { fieldsOf } from './schemas.mjs'
import { entryOfPage, facts, typeOf } from './sdk-types.mjs'

/** One class a namespace: `nodes.reports` → `NodesReportsRoutes`. */
export function resourceClasses(contract, schemas) {
  const imports = new Set()
  const queries = []
  const typed = routesOf(contract).filter(({ kind }) => kind === 'route')
  const classes = namespacesOf(contract).map((namespace) => {
    const own = typed.filter(({ name }) => parentOf(name) === namespace)
    const methods = own.map((operation) => methodOf(operation, schemas, imports, queries))
    return `export class ${classOf(namespace)} extends Resource {${methods.length ? `\n${methods.join('\n')}` : ''}}\n`
  })
  return `${header}import type { PageList } from '../page.js'
import type { ReceiveOptions, RequestOptions, StreamOptions } from '../options.js'
import { Resource } from '../resource.js'
import type { EventStream } from '../event-stream.js'
import type { Feed } from '../feed.js'
import type {
${[...imports]
  .sort()
  .map((name) => `  ${name},\n`)
  .join('')}} from './types.js'

${queries.join('\n')}
${classes.join('\n')}`
}

/** The namespaces as properties; those with composed methods are taken from `composed/`. */
export function namespaceTree(contract) {
  const namespaces = namespacesOf(contract)
  const composed = namespaces.filter(isComposed)
  const nested = (namespace) => namespaces.filter((other) => parentOf(other) === namespace)
  const usedOf = (namespace) => (composed.includes(namespace) ? pascal(namespace) : classOf(namespace))
  const branchOf = (namespace) => (nested(namespace).length ? `${pascal(namespace)}Namespace` : usedOf(namespace))
  const branches = namespaces
    .filter((namespace) => nested(namespace).length)
    .reverse()
    .map((namespace) => {
      const fields = nested(namespace).map(
        (child) => `  readonly ${leaf(child)} = new ${branchOf(child)}(this.transport)\n`,
      )
      return `export class ${pascal(namespace)}Namespace extends ${usedOf(namespace)} {\n${fields.join('')}}\n`
    })
  const top = namespaces.filter((namespace) => !namespace.includes('.'))
  const plain = namespaces.filter((namespace) => !composed.includes(namespace)).map(classOf)
  return `${header}${composed.map((name) => `import { ${pascal(name)} } from '../composed/${kebab(name)}.js'\n`).join('')}import type { Transport } from '../transport.js'
import { ${plain.sort().join(', ')} } from './resources.js'

${branches.join('\n')}
/** One property a namespace of the contract. */
export abstract class Namespaces {
  protected readonly transport: Transport
${top.map((name) => `  readonly ${name}: ${branchOf(name)}\n`).join('')}
  constructor(transport: Transport) {
    this.transport = transport
${top.map((name) => `    this.${name} = new ${branchOf(name)}(transport)\n`).join('')}  }
}
`
}

function methodOf(operation, schemas, imports, queries) {
  const take = (name) => {
    if (name) imports.add(name)
    return name
  }
  const { name, summary, description, params, body, response, item, replays } = operation
  // its position, the one thing that it can be asked for, is among the options
  const query = replays ? undefined : operation.query
  const path = fieldsOf(params)
  const fields = fieldsOf(query)
  const answer = operation.answer ?? 'json'
  const queryName = fields.length ? `${pascal(name)}Query` : undefined
  if (queryName) queries.push(queryInterface(queryName, fields))
  const needsQuery = fields.some(({ required }) => required)
  const bodyType = body && take(schemas.nameOf(body, 'input'))
  const responseName = response && schemas.nameOf(response, 'output')
  const entry = responseName && entryOfPage(schemas.components[responseName])
  const itemType = item && take(schemas.nameOf(item, 'output'))

  const args = path.map(({ name: param }) => `${param}: string`)
  if (bodyType) args.push(`body: ${bodyType}`)
  if (queryName) args.push(`query${needsQuery ? '' : '?'}: ${queryName}`)
  args.push(`options?: ${replays ? 'ReceiveOptions' : answer === 'json' ? 'RequestOptions' : 'StreamOptions'}`)
  const parts = ['params', 'query', 'body'].filter((part) => ({ params, query: queryName, body })[part])
  const given = parts.map((part) =>
    part === 'params' ? `params: { ${path.map(({ name: param }) => param).join(', ')} }` : part,
  )
  const call = `'${name}', { ${[...given, 'options'].join(', ')} }`

  const [type, how] = returned()
  const doc = docComment(
    [
      `${summary}.`,
      description && `\n${description}`,
      `\n\`${operation.method} ${operation.path}\`${codes(operation)}`,
    ],
    '  ',
  )
  return `${doc}  ${leaf(name)}(${args.join(', ')}): ${type} {\n    return this.${how}(${call})\n  }\n`

  function returned() {
    if (replays) return [`EventStream<${itemType}>`, `received<${itemType}>`]
    if (answer === 'stream') return [`EventStream<${itemType}>`, `streamed<${itemType}>`]
    if (answer === 'negotiated') return [`Feed<${itemType}>`, `fed<${itemType}>`]
    if (entry) {
      if (/^[A-Z]\w*$/.test(entry)) take(entry)
      return [`PageList<${entry}>`, `listed<${entry}>`]
    }
    if (!response) return ['Promise<void>', 'call<void>']
    take(responseName)
    return [`Promise<${responseName}>`, `call<${responseName}>`]
  }
}

function queryInterface(name, fields) {
  const rows = fields.map(({ name: field, schema, required }) => {
    const optional = required && schema.default === undefined ? '' : '?'
    return `${docComment(facts(schema), '  ')}  ${field}${optional}: ${typeOf(schema)}\n`
  })
  return `export interface ${name} {\n${rows.join('')}}\n`
}

const codes = ({ errors }) => (errors?.length ? `; may answer ${errors.map((code) => `\`${code}\``).join(', ')}` : '')

/** Every namespace that holds a typed or composed method, and those above it. */
function namespacesOf(contract) {
  const found = new Set()
  for (const { name, kind } of contract.operations) {
    if (kind !== 'route' && kind !== 'composed') continue
    for (let at = parentOf(name); at; at = parentOf(at)) found.add(at)
  }
  return [...found].sort()
}

/** Whether some of its methods are written by hand. */
const isComposed = (namespace) => existsSync(join(root, 'libs/sdk/src/composed', `${kebab(namespace)}.ts`))
const parentOf = (name) => name.split('.').slice(0, -1).join('.')
const leaf = (name) => name.split('.').at(-1)
const classOf = (namespace) => `${pascal(namespace)}Routes`
