import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type {
  Assignment,
  BrokerSignal,
  ContentPart,
  Delta,
  JournalEntry,
  LlmAnswer,
  MailEntry,
  TurnCall,
} from '../../libs/common/src/contract/index.js'
import { newId } from '../../libs/common/src/kernel/ids.js'

/** What the model answers to a call: parts of a message, or a problem document. */
export type Scripted =
  | ContentPart[]
  | { readonly status: number; readonly code: string; readonly [field: string]: unknown }

export type Model = (call: TurnCall, node: PlayedNode) => Scripted | Promise<Scripted>

export const text = (said: string): ContentPart => ({ type: 'text', text: said })
export const toolCall = (call_id: string, name: string, input: unknown): ContentPart => ({
  type: 'tool_call',
  call_id,
  name,
  input,
})

/** One node as its broker sees it: what was asked of the daemon stands here for the test to read. */
export class PlayedNode {
  readonly id = newId('node')
  generation = 1
  readonly journal: JournalEntry[] = []
  /** Entries in one page of the journal. */
  journalPage = Number.POSITIVE_INFINITY
  /** Mail that was not acknowledged. */
  mail: MailEntry[] = []
  readonly calls: TurnCall[] = []
  readonly deltas: Delta[] = []
  readonly reports: { kind: string; body: string; engagement: number }[] = []
  /** Commands that were started as jobs, by the key of their request. */
  readonly jobs = new Map<string, string>()
  readonly requests: string[] = []
  /** Routes with the trace that each request named. */
  readonly traced: { readonly route: string; readonly traceparent: string }[] = []
  readonly binds: { pid: number; host_id: string; started_at: string; version: string }[] = []
  result: unknown
  /** What the end of a turn is told: `finish` while nothing is waited for. */
  waitsFor: { kind: 'child' | 'job' | 'timer' | 'answer'; id: string }[] = []
  waits: Record<string, unknown>[] = []
  notes: string[] = []
  roadmap: { text: string; version: number } | undefined
  /** Contents of attachments, by their ids. */
  readonly attached = new Map<string, Buffer>()
  /** Tokens that the model takes, told with its answers. */
  contextWindow: number | undefined
  /** Tokens that the model counts of what it is sent. */
  countTokens: (call: TurnCall) => number = () => 1
  resync = false
  ended = false
  readonly #bought = new Map<string, LlmAnswer>()
  readonly #listeners = new Set<ServerResponse>()

  constructor(
    readonly given: Partial<Assignment>,
    private readonly model: Model,
  ) {}

  get token(): string {
    return `${this.id}.${this.generation}`
  }

  post(body: string, mail: Partial<MailEntry> = {}): MailEntry {
    const kind = this.mail.length || this.journal.length ? 'message' : 'prompt'
    const seq = this.mail.length + 1
    const source = { kind: 'owner', id: null } as const
    const entry: MailEntry = {
      id: newId('msg'),
      seq,
      tier: 'normal',
      kind,
      body,
      source,
      created_at: new Date(0).toISOString(),
      ...mail,
    }
    this.mail.push(entry)
    const urgent = entry.tier === 'urgent' || entry.tier === 'critical'
    this.signal({ type: 'mail', urgent, critical: entry.tier === 'critical' })
    return entry
  }

  signal(signal: BrokerSignal): void {
    for (const listener of this.#listeners) listener.write(`data: ${JSON.stringify(signal)}\n\n`)
  }

  get listening(): boolean {
    return this.#listeners.size > 0
  }

  entries<T extends JournalEntry['type']>(type: T): Extract<JournalEntry, { type: T }>[] {
    return this.journal.filter((entry): entry is Extract<JournalEntry, { type: T }> => entry.type === type)
  }

  async answer(route: string, body: Record<string, unknown>, response: ServerResponse): Promise<void> {
    this.requests.push(route)
    switch (route) {
      case 'POST broker/bind':
        this.binds.push(body as never)
        return json(response, this.#assignment())
      case 'POST broker/journal':
        return this.#append(body as { from: number; entries: JournalEntry[] }, response)
      case 'GET broker/journal':
        return json(response, { journal: this.#page(Number(body.from)), next_ord: this.journal.length + 1 })
      case 'POST broker/deltas':
        this.deltas.push(...(body.deltas as Delta[]))
        json(response, { resync: this.resync })
        this.resync = false
        return
      case 'POST broker/model-calls':
        return this.#think(body as unknown as TurnCall, response)
      case 'POST broker/model-calls/cancel':
        return json(response, { canceled: true })
      case 'GET broker/signals':
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n')
        this.#listeners.add(response)
        response.once('close', () => this.#listeners.delete(response))
        return
      case 'POST mail/claim':
        return json(response, {
          mail: this.mail.filter(({ tier }) => !body.steering || tier === 'urgent' || tier === 'critical'),
          lease_expires_at: '',
        })
      case 'POST faults':
        return json(response, { noted: true })
      case 'POST mail/acknowledge':
        this.mail = this.mail.filter(({ id }) => !(body.ids as string[]).includes(id))
        return json(response, { acknowledged: (body.ids as string[]).length })
      case 'POST reports':
        this.reports.push({ ...(body as { kind: string; body: string }), engagement: 1 })
        return json(response, {}, 201)
      case 'GET reports':
        return json(response, { data: this.reports, next_cursor: null, has_more: false })
      case 'POST jobs':
        this.jobs.set(String(body.key), String(body.command))
        return json(response, { id: 'job_01jd0000000000000000000000', command: body.command, status: 'running' }, 201)
      case 'POST broker/settle':
        return json(response, { directive: this.waitsFor.length ? 'wait' : 'finish', waits_for: this.waitsFor })
      case 'POST wait':
        this.waits.push(body)
        return json(response, { reached: false })
      case 'POST promote':
        return json(response, { ...this.#assignment(), mode: 'orchestrator' })
      case 'POST yield':
        this.notes.push(String(body.note))
        return json(response, {})
      case 'GET roadmap':
        if (!this.roadmap) return json(response, { code: 'not_found', status: 404 }, 404)
        return json(response, this.roadmap)
      case 'PUT roadmap':
        this.roadmap = { text: String(body.text), version: (this.roadmap?.version ?? 0) + 1 }
        return json(response, this.roadmap)
      case 'POST broker/viewer': {
        const { ticket, act } = body as { ticket: string; act: Record<string, unknown> }
        if (ticket !== 'good') return json(response, { code: 'owner_required', status: 403 }, 403)
        if (act.type === 'message') this.post(String(act.body), { tier: act.tier as MailEntry['tier'] })
        if (act.type === 'interrupt') this.signal({ type: 'interrupt', request: this.entries('turn_started').length })
        return json(response, act.type === 'interrupt' ? { interrupted: true } : {})
      }
      case 'POST result':
        this.result = body.value
        return json(response, {})
      case 'GET outcome':
        return json(response, { result: this.result })
      default:
        if (route.startsWith('GET attachments/'))
          return this.#attachment(route.slice('GET attachments/'.length), response)
        return json(response, { code: 'route_not_found', status: 404 }, 404)
    }
  }

  #attachment(id: string, response: ServerResponse): void {
    const content = this.attached.get(id)
    if (content) response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(content)
    else json(response, { code: 'not_found', status: 404, detail: 'There is none.' }, 404)
  }

  #assignment(): Assignment {
    return {
      node_id: this.id,
      generation: this.generation,
      engagement: 1,
      context: 1,
      turn: 0,
      forked_from: null,
      first_ord: 1,
      name: 'tester',
      kind: 'general',
      mode: 'base',
      lifecycle: 'terminal',
      engine: 'loop',
      exec: null,
      cwd: '/tmp',
      model: { strength: 'medium' },
      scopes: ['*'],
      result_schema: null,
      parent: null,
      depth: 0,
      persona: null,
      reported: false,
      next_ord: this.journal.length + 1,
      journal: this.#page(1),
      mail: this.mail,
      ...this.given,
    }
  }

  #page(from: number): Assignment['journal'] {
    const records = this.journal.map((entry, at) => ({
      ord: at + 1,
      generation: 1,
      created_at: new Date(0).toISOString(),
      entry,
    }))
    return records.slice(from - 1, from - 1 + this.journalPage)
  }

  #append({ from, entries }: { from: number; entries: JournalEntry[] }, response: ServerResponse): void {
    const written = this.journal.slice(from - 1, from - 1 + entries.length)
    if (from !== this.journal.length + 1 && !isDeepStrictEqual(written, entries)) {
      json(response, { code: 'journal_conflict', status: 409 }, 409)
      return
    }
    if (from === this.journal.length + 1) this.journal.push(...entries)
    const taken = entries.flatMap((entry) => (entry.type === 'turn_started' ? entry.mail : []))
    this.mail = this.mail.filter(({ id }) => !taken.includes(id))
    const end = entries.find((entry) => entry.type === 'turn_ended')
    const goesOn = this.mail.length > 0 && end?.final === undefined
    this.ended = end !== undefined && !goesOn
    json(response, { next_ord: this.journal.length + 1, next: this.ended ? 'stop' : 'continue' })
  }

  async #think(call: TurnCall, response: ServerResponse): Promise<void> {
    this.calls.push(call)
    const key = `${call.turn}/${call.step}`
    const bought = this.#bought.get(key)
    const said = bought?.content ?? (await this.model(call, this))
    if (!Array.isArray(said)) return json(response, said, said.status)
    const usage = { input_tokens: this.countTokens(call), output_tokens: 1, cached_tokens: 0, cost_usd: 0 }
    const calls = said.some((part) => part.type === 'tool_call')
    const answer: LlmAnswer = bought ?? {
      content: said,
      finish_reason: calls ? 'tool_calls' : 'stop',
      model: 'mock/one',
      usage,
      ...(this.contextWindow !== undefined && { context_window: this.contextWindow }),
      attempts: [],
    }
    this.#bought.set(key, answer)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const part of said) if (part.type === 'text') response.write(`data: ${JSON.stringify(part)}\n\n`)
    response.write(`data: ${JSON.stringify({ type: 'answer', answer, replayed: bought !== undefined })}\n\n`)
    response.end('event: end\ndata: {"reason":"done"}\n\n')
  }
}

const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response
    .writeHead(status, { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' })
    .end(JSON.stringify(body))
}

const readBody = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length ? (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>) : {}
}

export interface Asked {
  readonly route: string
  readonly key: string
  readonly body: Record<string, unknown>
}

/** A real HTTP server that speaks the routes which the contract gives to brokers, for the nodes that a test plays. */
export class BrokerRoutes {
  readonly #nodes = new Map<string, PlayedNode>()
  /** Set, every request is refused with it: a daemon that restarts. */
  refusal: { status: number; code: string } | undefined
  /** Requests that were not about a node that the test plays, and what answers them: a problem, if it has a status. */
  readonly asked: Asked[] = []
  others: (asked: Asked) => Record<string, unknown> | undefined = () => undefined
  connections = 0

  private constructor(private readonly server: Server) {}

  static async start(): Promise<BrokerRoutes> {
    const server = createServer()
    const routes = new BrokerRoutes(server)
    server.on('request', (request, response) => {
      routes.#serve(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
    server.on('connection', () => {
      routes.connections += 1
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return routes
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  node(given: Partial<Assignment>, model: Model = () => [text('done')]): PlayedNode {
    const node = new PlayedNode(given, model)
    this.#nodes.set(node.id, node)
    return node
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request)
    const [, id, route] = /^\/v1\/nodes\/(\w+)\/([\w/-]+)/.exec(request.url ?? '') ?? []
    const node = this.#nodes.get(id ?? '')
    const token = request.headers.authorization?.replace('Bearer ', '')
    if (this.refusal) return json(response, this.refusal, this.refusal.status)
    if (!node) return this.#answerOther(request, body, response)
    if (!route) return json(response, { code: 'not_found', status: 404 }, 404)
    if (token !== node.token) return json(response, { code: 'stale_generation', status: 409 }, 409)
    const query = Object.fromEntries(new URL(request.url ?? '', this.url).searchParams)
    const key = request.headers['idempotency-key']
    const { traceparent } = request.headers
    if (traceparent !== undefined)
      node.traced.push({ route: `${request.method} ${route}`, traceparent: String(traceparent) })
    return node.answer(`${request.method} ${route}`, { ...query, ...body, ...(key && { key }) }, response)
  }

  #answerOther(request: IncomingMessage, body: Record<string, unknown>, response: ServerResponse): void {
    const route = `${request.method} ${(request.url ?? '').split('?')[0]}`
    const asked = { route, key: String(request.headers['idempotency-key'] ?? ''), body }
    this.asked.push(asked)
    const answered = this.others(asked) ?? { code: 'not_found', status: 404 }
    json(response, answered, typeof answered.status === 'number' ? answered.status : 200)
  }
}
