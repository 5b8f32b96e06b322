// One listener's routes as an OpenAPI 3.1 document.
import { gatesOf, routesOf } from './names.mjs'
import { commonResponses, problemSchema, responsesOf } from './openapi-responses.mjs'
import { fieldsOf } from './schemas.mjs'

const prefix = '#/components/schemas/'
const listeners = {
  owner: { url: 'http://127.0.0.1:7420', title: "Owner's listener" },
  app: { url: 'http://127.0.0.1:7421', title: 'Application listener' },
}
const tagTexts = {
  nodes: 'Agent runs and their work',
  kinds: 'Roles of nodes, and the personas that the owner adds',
  focuses: 'Which node each pane of a viewer shows',
  profiles: 'Named defaults that nodes are made with',
  canvas: 'All nodes at once, and what they said and did',
  models: 'Model credentials, configuration and readiness',
  llm: 'Model calls, mediated by the daemon',
  system: 'The daemon itself',
  files: 'Files of the machine, by absolute path',
  bash: 'Shell commands on the machine',
  human: 'What agents and applications ask a person',
  retention: 'How long what is kept, and how much room it takes',
  tokens: 'Bearer tokens: minting, rotation, revocation',
  apps: 'Applications, and what each may do',
  grant: 'What the calling application may do',
  access: 'Where the daemon is reached from',
  audit: "What was done with the owner's rights, and what was denied",
  crons: 'Schedules, and what became of each of their slots',
  customObjects: 'Things outside that publish events, or receive them',
  ledger: 'What did not happen as planned, and why',
  sandbox: 'How programs of nodes are held on each machine',
  health: 'Liveness of the application listener',
}

export function openApiDocument({ contract, schemas, version, listener }) {
  const operations = routesOf(contract).filter((operation) => operation.listeners.includes(listener))
  const paths = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    paths[operation.path][operation.method.toLowerCase()] = describe(operation, contract, schemas)
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: `svc: ${listeners[listener].title}`,
      version,
      summary: 'An agent runtime daemon: hosts agent runs and owns a durable canvas of their state.',
      description:
        'Unknown query and body fields are refused; answers and events may grow fields, which a client ignores. Every error is a problem document with a `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: listeners[listener].url, description: `${listeners[listener].title}, as it listens by default` }],
    tags: tagsOf(operations),
    paths,
  }
  const needsToken = operations.some((operation) => !gatesOf(operation).includes('open'))
  document.components = {
    securitySchemes: needsToken
      ? { bearer: { type: 'http', scheme: 'bearer', description: '`svc sys connect` prints a token.' } }
      : undefined,
    responses: usedResponses(paths),
    schemas: { ...schemasUsedBy(paths, schemas.components), Problem: problemSchema },
  }
  return document
}

function tagsOf(operations) {
  const names = [...new Set(operations.map(tagOf))]
  return names.map((name) => {
    if (!tagTexts[name])
      throw new Error(`scripts/gen/openapi.mjs: say in tagTexts what the namespace "${name}" is about`)
    return { name, description: tagTexts[name] }
  })
}

function describe(operation, contract, schemas) {
  const { name, summary, description, params, query, body, status = 200 } = operation
  const gates = gatesOf(operation)
  return {
    operationId: name,
    tags: [tagOf(operation)],
    summary,
    description: [
      description,
      `Gate: ${gates.map((gate) => gateTexts[gate] ?? `the scope \`${gate}\``).join(', or ')}.`,
    ]
      .filter(Boolean)
      .join('\n\n'),
    security: gates.includes('open') ? [] : [{ bearer: [] }],
    parameters: nonEmpty([
      ...fieldsOf(params).map(({ name: field, schema }) => ({
        name: field,
        in: 'path',
        required: true,
        ...parameter(schema),
      })),
      ...fieldsOf(query).map(({ name: field, schema, required }) => ({
        name: field,
        in: 'query',
        required: required && schema.default === undefined,
        ...parameter(schema),
      })),
      ...headersOf(operation),
    ]),
    requestBody: body && { required: true, content: { 'application/json': { schema: schemas.refOf(body, 'input') } } },
    responses: { [status]: success(operation, schemas), ...responsesOf(operation, contract) },
  }
}

const gateTexts = {
  open: 'open to anybody',
  owner: "the owner's token",
  bearer: 'any valid token',
  app: "an app's own token",
  own: "any valid token, for what is the caller's own",
  self: "the node's own token",
  broker: "the node's own token, of its present generation",
}

const lastEvent =
  'The last event is `end` with its reason, `error` with the problem that ended the stream, or `overflow` to one who reads too slowly.'

function success({ response, item, answer = 'json', status = 200 }, schemas) {
  const content = {}
  if (answer === 'bytes') content['application/octet-stream'] = { schema: { type: 'string', format: 'binary' } }
  if (response && answer !== 'stream') content['application/json'] = { schema: schemas.refOf(response, 'output') }
  if (item && answer !== 'json') content['text/event-stream'] = { schema: schemas.refOf(item, 'output') }
  const description = {
    json: status === 201 ? 'Created' : status === 204 ? 'Done; nothing to say' : 'Success',
    bytes: 'The bytes, as the type that they have, or JSON, by the Accept header',
    stream: `Server-sent events; \`data\` of each is one item. ${lastEvent}`,
    negotiated: `One JSON answer, or server-sent events with one item each, by the Accept header. ${lastEvent}`,
  }[answer]
  const headers =
    status === 201 ? { Location: { description: 'Path of what was created', schema: { type: 'string' } } } : undefined
  return { description, headers, content: Object.keys(content).length ? content : undefined }
}

function headersOf({ idempotency, answer = 'json', method }) {
  const header = (name, description, maxLength) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', maxLength },
  })
  return [
    ...(idempotency === 'key'
      ? [header('Idempotency-Key', 'The first answer under this key is kept for 24 h and replayed', 255)]
      : []),
    ...(['stream', 'negotiated'].includes(answer) && method === 'GET'
      ? [header('Last-Event-ID', 'Go on after this event', 512)]
      : []),
  ]
}

function parameter({ description, examples, ...schema }) {
  return { description, example: examples?.[0], schema }
}

function usedResponses(paths) {
  const text = JSON.stringify(paths)
  return Object.fromEntries(
    Object.entries(commonResponses).filter(([name]) => text.includes(`"#/components/responses/${name}"`)),
  )
}

function schemasUsedBy(paths, components) {
  const used = {}
  const visit = (node) => {
    if (typeof node !== 'object' || node === null) return
    if (typeof node.$ref === 'string' && node.$ref.startsWith(prefix)) {
      const name = node.$ref.slice(prefix.length)
      if (!(name in used) && components[name]) {
        used[name] = components[name]
        visit(components[name])
      }
    }
    Object.values(node).forEach(visit)
  }
  visit(paths)
  return Object.fromEntries(Object.entries(used).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const tagOf = ({ name }) => name.split('.')[0]
const nonEmpty = (list) => (list.length ? list : undefined)
