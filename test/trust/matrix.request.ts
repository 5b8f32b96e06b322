import { Agent, type RequestOptions, request } from 'node:http'
import type { Operation } from '../../libs/common/src/contract/define.js'
import { Random } from '../chaos/random.js'
import { type Hints, type Json, sample } from '../fuzz/sample.js'

/** The least that a request must hold: whatever may be left out is. */
class Least extends Random {
  override next(): number {
    return 1
  }

  override pick<T>(items: readonly T[]): T {
    return items[0] as T
  }
}

const hints: Hints = {
  path: '/tmp/x',
  cwd: '/tmp',
  command: 'true',
  app: 'nobody',
  name: 'nobody',
  provider: 'openai',
  pane: '%1',
  pattern: 'x',
  ref: 'nobody',
  event: 'built',
  query: 'x',
  scopes: [],
  engine: 'exec',
  job_id: 'job_01jd0000000000000000000000',
  attachment_id: 'att_01jd0000000000000000000000',
  node: 'node_01jd0000000000000000000000',
  node_id: 'node_01jd0000000000000000000000',
  subscriber: 'node_01jd0000000000000000000000',
  publisher: 'node_01jd0000000000000000000001',
  watcher: 'node_01jd0000000000000000000000',
  source: 'nobody',
}

/** Bodies that a schema's types alone don't tell how to write. */
const nobody = 'node_01jd0000000000000000000000'
const question = { kind: 'deck', title: 'Which way?', pages: [{ id: 'p', kind: 'notify', title: 'This way' }] }
const bodies: Readonly<Record<string, Json>> = {
  'canvas.attentionCounts': { ids: [nobody] },
  'crons.create': { schedule: { every: 3600 }, action: { type: 'message', node_id: nobody, body: 'x' } },
  'crons.preview': { schedule: { every: 3600 } },
  'customObjects.ack': { ids: ['dlv_01jd0000000000000000000000'] },
  'customObjects.publish': { event: 'built', payload: null },
  'customObjects.publishBatch': { events: [{ event: 'built', payload: null }] },
  'files.write': { path: '/tmp/x', content: 'x' },
  'human.requests.create': question,
  'human.requests.replace': { title: question.title, pages: question.pages },
  'nodes.broker.bind': { host_id: 'local', pid: 1, started_at: '2026-01-01T00:00:00.000Z', version: '0' },
  'nodes.update': { name: 'other' },
}

const idFor = (path: string, node: string): string => {
  if (path.startsWith('/v1/human/')) return 'req_01jd0000000000000000000000'
  if (path.startsWith('/v1/crons/')) return 'cron_01jd0000000000000000000000'
  return path.startsWith('/v1/tokens/') ? 'tok_01jd0000000000000000000000' : node
}

export interface Shaped {
  readonly path: string
  readonly body: string | undefined
}

/** A request of this operation that only who sends it can make fail. */
export const shape = (entry: Operation, node: string): Shaped => {
  const random = new Least(1)
  const known: Hints = { ...hints, id: idFor(entry.path as string, node) }
  const path = (entry.path as string).replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(known[name])),
  )
  const query = Object.entries(sample(entry.query, random, known) as Record<string, Json>)
  const text = query.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')
  const body = entry.body ? (bodies[entry.name] ?? sample(entry.body, random, known)) : undefined
  return { path: text ? `${path}?${text}` : path, body: body === undefined ? undefined : JSON.stringify(body) }
}

export interface Reply {
  readonly status: number
  readonly code: string | undefined
  readonly scope: string | undefined
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

export interface Door {
  readonly name: string
  readonly listener: 'owner' | 'app'
  readonly at: RequestOptions
}

/** Sends it by this door and reads the code of the answer. */
export const knock = (door: Door, entry: Operation, { path, body }: Shaped, token: string | undefined, id: string) =>
  new Promise<Reply>((resolve, reject) => {
    const headers = {
      accept: entry.answer === 'stream' ? 'text/event-stream' : 'application/json',
      'x-request-id': id,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    }
    const sent = request({ agent, ...door.at, method: entry.method, path, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      answer.on('end', () => {
        const said = /^\{/.test(text) ? JSON.parse(text) : {}
        resolve({ status: answer.statusCode ?? 0, code: said.code, scope: said.scope })
      })
      answer.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
