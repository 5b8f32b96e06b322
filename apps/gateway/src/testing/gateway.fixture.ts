import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Settings, settings as schema } from '#common/kernel/config.js'
import { createLogger } from '#common/kernel/log.js'
import { loadNodeTokenKey } from '#common/kernel/node-token-key.js'
import { type RunningService, startService } from '#common/kernel/service.js'
import { deriveNodeToken } from '#common/kernel/tokens.js'
import { service } from '../gateway.module.js'
import { GatewayListeners } from '../listener/gateway.listeners.js'

/** A database of the test's own. */
export interface OwnDatabase {
  urlFor(service: 'gateway'): string
  query<T>(sql: string): Promise<T[]>
  drop(): Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly body: any
}

export interface Asking {
  readonly method?: string
  readonly path: string
  readonly token?: string | undefined
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly base?: string
  readonly socketPath?: string
}

const urlParts = (url: URL) => ({ host: url.hostname, port: url.port, path: url.pathname + url.search })

/** A suite's user of the bus may do everything; the gateway comes in as its own, whose name ends with the service's. */
const asGateway = (natsUrl: string): string => natsUrl.replace(/\/\/(suite-\d+):/, '//$1-gateway:')

/** A gateway with a database and a data directory of its own. */
export class TestGateway {
  private constructor(
    readonly running: RunningService,
    readonly settings: Settings,
    readonly database: OwnDatabase,
  ) {}

  static async start(natsUrl: string, database: OwnDatabase, changes: Partial<Settings> = {}): Promise<TestGateway> {
    const settings = schema.parse({
      SVC_DATA_DIR: mkdtempSync(join(tmpdir(), 'svc-gateway-')),
      SVC_OWNER_LISTEN: '127.0.0.1:0',
      SVC_APP_LISTEN: '127.0.0.1:0',
      DATABASE_URL: database.urlFor('gateway'),
      NATS_URL: asGateway(natsUrl),
      // a suite asks as much as it likes unless limits are its subject
      SVC_RATE_LIMIT: 0,
      SVC_AUTH_FAILURE_LIMIT: 0,
      ...changes,
    })
    return new TestGateway(await TestGateway.run(settings), settings, database)
  }

  static run(settings: Settings): Promise<RunningService> {
    return startService(service, { name: 'gateway', settings, log: createLogger('gateway', 'silent') })
  }

  async stop(): Promise<void> {
    await this.running.close()
    await this.database.drop()
    rmSync(this.settings.SVC_DATA_DIR, { recursive: true, force: true })
  }

  get listeners(): GatewayListeners {
    return this.running.app.get(GatewayListeners)
  }

  get token(): string {
    const { SVC_OWNER_TOKEN_FILE: file, SVC_DATA_DIR: directory } = this.settings
    return readFileSync(file ?? join(directory, 'owner.token'), 'utf8').trim()
  }

  nodeToken(id: string, generation = 1): string {
    return deriveNodeToken(loadNodeTokenKey(this.settings), id, generation)
  }

  get base(): string {
    return this.listeners.addresses.owner
  }

  /** One request as the owner, unless a token is given (or undefined, for none). */
  async ask(asking: Asking): Promise<Answer> {
    const response = await this.open('token' in asking ? asking : { ...asking, token: this.token })
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }

  open({
    method = 'GET',
    path,
    token,
    headers = {},
    body,
    base = this.base,
    socketPath,
  }: Asking): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          ...(socketPath ? { socketPath, path } : urlParts(new URL(path, base))),
          method,
          agent: false,
          headers: {
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...(text !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(text),
            }),
            ...headers,
          },
        },
        resolve,
      )
      request.on('error', reject)
      request.end(text)
    })
  }
}

export interface Received {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any event
  readonly data: any
}

/** What a stream sends, as it comes. */
export class TestWatcher {
  readonly events: Received[] = []
  ended = false

  private constructor(private readonly response: IncomingMessage) {
    let rest = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      const blocks = (rest + chunk).split('\n\n')
      rest = blocks.pop() as string
      for (const block of blocks) this.#read(block)
    })
    response.on('close', () => {
      this.ended = true
    })
  }

  static async open(
    gateway: TestGateway,
    path: string,
    headers: Record<string, string> = {},
    asking: Pick<Asking, 'method' | 'body'> = {},
  ): Promise<TestWatcher> {
    const response = await gateway.open({
      ...asking,
      path,
      token: gateway.token,
      headers: { accept: 'text/event-stream', ...headers },
    })
    if (response.statusCode !== 200) throw new Error(`the stream was refused with ${response.statusCode}`)
    return new TestWatcher(response)
  }

  get ids(): string[] {
    return this.events.filter(({ event }) => !/^(end|error|overflow)$/.test(event)).map(({ id }) => id ?? '')
  }

  close(): void {
    this.response.destroy()
  }

  #read(block: string): void {
    const fields = Object.fromEntries(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    )
    if (fields.event)
      this.events.push({
        ...(fields.id && { id: fields.id }),
        event: fields.event,
        data: JSON.parse(fields.data ?? ''),
      })
  }
}
