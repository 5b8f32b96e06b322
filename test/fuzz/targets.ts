import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gatesOf, type Operation } from '#common/contract/define.js'
import type { ErrorCode } from '#common/contract/errors.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Random } from '../chaos/random.js'
import type { TestDaemon } from '../support/daemon.js'
import type { Hints, Json } from './sample.js'
import type { Secrets } from './secrets.js'

const nobody = 'node_01jd0000000000000000000000'
const noCron = 'cron_01jd0000000000000000000000'

/** When schedules are to fire that are armed: later than any run. */
const later = '2050-01-01T00:00:00.000Z'
const far = '2060-01-01T00:00:00.000Z'

const noDelivery = 'dlv_01jd0000000000000000000000'
/** Objects: one that stands from renewal to renewal, one that requests make and remove, and one that is never there. */
const thing = 'thing'
const fuzzed = 'fuzzed'
const noThing = 'no-such-thing'

const isOfObjects = ({ path }: Operation): boolean => /^\/v1\/(custom-objects|canvas\/watches)/.test(path ?? '')
const isOfCrons = ({ path }: Operation): boolean => path?.startsWith('/v1/crons') === true

export interface Aim {
  readonly hints: Hints
  readonly token: string
  readonly ofOwner: boolean
  /** Fields of the body that keep it from taking effect. */
  readonly blunt: Readonly<Record<string, Json>>
}

const nested = (depth: number): Json => (depth === 0 ? 1 : { a: nested(depth - 1) })
const schemaNested = (depth: number): Json =>
  depth === 0 ? { type: 'integer' } : { type: 'object', properties: { a: schemaNested(depth - 1) }, required: ['a'] }

const catalogs: readonly Json[] = [
  [],
  [{ event: 'built' }],
  [{ event: 'built' }, { event: 'torn', payload_schema: { type: 'object', required: ['why'] } }],
  [{ event: 'built' }, { event: 'built' }],
  [{ event: 'built', payload_schema: schemaNested(40) }],
  // takes exponential time where a pattern is tried as it stands
  [{ event: 'built', payload_schema: { type: 'string', pattern: '^(a+)+$' } }],
  [{ event: 'built', payload_schema: { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' } }],
]

const receivers: readonly Json[] = [
  null,
  { type: 'queue' },
  { type: 'queue', max_pending: 1 },
  { type: 'url', url: 'http://127.0.0.1:9/hook' },
  { type: 'url', url: 'http://127.0.0.1:9/hook', allow_private: true },
  { type: 'url', url: 'http://[::ffff:169.254.169.254]/' },
  { type: 'argv', argv: ['true'] },
  { type: 'argv', argv: ['/there/is/no/such'], cwd: '/there/is/no/such' },
]

/** What keeps a request that would cost much, if it were sound, from being done. */
const blunted: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  'nodes.create': { parent_id: nobody },
  'nodes.reviveAll': { under: nobody },
  'human.requests.create': { node_id: nobody },
  'canvas.subscriptions.put': { subscriber: nobody },
  'bash.run': { cwd: '/there/is/no/such' },
  'files.write': { path: '/there/is/no/such' },
  'tokens.create': { app: 'nobody' },
  'apps.create': { name: 'fuzzed' },
  'llm.call': { model: 'nobody/none' },
  'models.config.update': { if_version: 0 },
  'crons.create': { schedule: { every: 1 } },
  'customObjects.register': { app: 'nobody' },
  'canvas.watches.put': { watcher: nobody },
}

/** What the requests speak to: a node that has ended, one that works and gives away its token, and nobody. */
export class Targets {
  #ended = ''
  #living = ''
  #livingToken = ''
  #ownersToken = ''
  #cron = ''
  #publishToken = ''
  #made = 0
  readonly #tokens = { app: '', powerless: '', appId: '', tokenId: '' }
  /** Tokens that are good no more. */
  spent: { token: string; code: ErrorCode }[] = []

  private constructor(
    private readonly daemon: TestDaemon,
    private readonly secrets: Secrets,
  ) {}

  /** Tokens of others than the owner and the node that is spoken to. */
  get others(): readonly string[] {
    return [this.#tokens.app, this.#tokens.powerless, this.#livingToken, this.#publishToken]
  }

  static async on(daemon: TestDaemon, secrets: Secrets): Promise<Targets> {
    // No provider is ever reached: this one refuses connections.
    await daemon.client().models.config.update({
      providers: { mock: { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
      ladders: { medium: ['mock/m-1'] },
    })
    const targets = new Targets(daemon, secrets)
    await targets.#makeTokens()
    return targets
  }

  async #makeTokens(): Promise<void> {
    const client = this.daemon.client()
    const app = await this.#makeApp('fuzzed')
    const mint = async (scopes?: string[]): Promise<{ id: string; token: string }> => {
      const body = { app: app.id, ...(scopes && { scopes }) }
      const made = await client.request<{ id: string; token: string }>('POST', '/v1/tokens', body)
      this.secrets.add(made.token)
      return made
    }
    const [whole, powerless, revoked, expired] = [await mint(), await mint([]), await mint(), await mint()]
    await client.request('DELETE', `/v1/tokens/${revoked.id}`)
    const past =
      "UPDATE gateway.tokens SET expires_at = now() - interval '1 hour', created_at = now() - interval '1 day'"
    await this.daemon.rows(`${past} WHERE $1 LIKE '%' || id`, [expired.id])
    const told = () => this.daemon.client({ token: expired.token, maxRetries: 0 }).request('GET', '/v1/token')
    await waitFor(
      () =>
        told().then(
          () => false,
          ({ code }) => code === 'token_expired',
        ),
      { what: 'an expired token' },
    )
    this.spent = [
      { token: revoked.token, code: 'token_revoked' },
      { token: expired.token, code: 'token_expired' },
    ]
    Object.assign(this.#tokens, { app: whole.token, powerless: powerless.token, tokenId: revoked.id })
  }

  #makeApp(name: string): Promise<{ id: string }> {
    return this.daemon.client().request<{ id: string }>('POST', '/v1/apps', { name, scopes: ['svc:llm'] })
  }

  /** Fires when it is told to, and never by itself. */
  #makeCron(): Promise<{ id: string }> {
    const action = { type: 'bash', cwd: this.daemon.workDir, command: 'true' }
    return this.daemon.client().request<{ id: string }>('POST', '/v1/crons', { schedule: { at: far }, action })
  }

  /** Brought back to what it was, with a token that works. */
  async #renewThing(): Promise<void> {
    const body = { name: thing, catalog: [{ event: 'built' }], receiver: { type: 'queue' }, rotate: true }
    const made = await this.daemon.client().request<{ publish_token: string }>('POST', '/v1/custom-objects', body)
    this.#publishToken = made.publish_token
    this.secrets.add(made.publish_token)
  }

  async renew(): Promise<void> {
    const { nodes } = this.daemon.client()
    const cwd = this.daemon.workDir
    this.#made += 1
    // one that may be renamed, narrowed and removed
    this.#tokens.appId = (await this.#makeApp(`fuzzed-${this.#made}`)).id
    this.#ownersToken = this.daemon.token
    this.#cron = (await this.#makeCron()).id
    await this.#renewThing()
    const file = join(cwd, `token-${this.#made}`)
    const common = { prompt: 'go', engine: 'exec', cwd, lifecycle: 'terminal' } as const
    if (this.#living) await nodes.cancel(this.#living).catch(() => undefined)
    const living = await nodes.create({
      ...common,
      exec: { argv: ['sh', '-c', 'printf %s "$SVC_TOKEN" > "$0.new"; mv "$0.new" "$0"; exec sleep 600', file] },
    })
    this.#ended = (await nodes.createAndWait({ ...common, exec: { argv: ['true'] } })).node_id
    const before = this.#livingToken
    this.#livingToken = await waitFor(() => readFileSync(file, 'utf8'))
    this.secrets.add(this.#livingToken)
    // the node that it was of has ended
    if (before) this.spent = [...this.spent.slice(0, 2), { token: before, code: 'token_revoked' }]
    this.#living = living.id
  }

  /** Mostly the one who may call this operation at all. @param sparing whether most of it is to be without effect */
  for(entry: Operation, random: Random, sparing = false): Aim {
    const blunt = sparing && random.next() < 0.97
    const ofNode = gatesOf(entry).some((gate) => gate === 'broker' || gate === 'self')
    const ofOwner = ofNode ? random.next() < 0.1 : random.next() < 0.85
    const node = ofOwner ? (blunt ? nobody : random.pick([this.#ended, this.#ended, nobody])) : this.#living
    const cron = blunt ? noCron : this.#cron
    const id = entry.path?.startsWith('/v1/tokens') ? this.#tokens.tokenId : isOfCrons(entry) ? cron : node
    const ofApp = gatesOf(entry).includes('app')
    const publishes = gatesOf(entry).includes('pub') && random.next() < 0.5
    return {
      ofOwner: ofOwner && !ofApp && !publishes,
      token: publishes
        ? this.#publishToken
        : ofApp
          ? this.#tokens.app
          : ofOwner
            ? this.#ownersToken
            : this.#livingToken,
      blunt: (blunt && blunted[entry.name]) || {},
      hints: {
        id,
        app: blunt ? 'nobody' : this.#tokens.appId,
        pane: 'pane-1',
        job_id: 'job_01jd0000000000000000000000',
        name: 'fuzzed',
        subscriber: node,
        publisher: node,
        node_id: node,
        under: node,
        parent_id: node,
        provider: 'mock',
        prompt: 'go',
        engine: 'exec',
        exec: { argv: ['true'] },
        cwd: this.daemon.workDir,
        kind: 'general',
        root: false,
        scopes: ['svc:llm', 'svc:act'],
        result_schema: { type: 'object' },
        schema: { type: 'object' },
        input_schema: { type: 'object' },
        limit: 10,
        wait: 0,
        after: '1',
        providers: { mock: { type: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' } },
        ladders: { medium: ['mock/m-1'] },
        prices: {},
        value: {},
        ...(isOfCrons(entry) && this.#planned(random, node)),
        ...(isOfObjects(entry) && this.#declared(entry, random, node)),
        cron_id: cron,
        owner_node_id: node,
        start_at: later,
        end_at: far,
      },
    }
  }

  /** What a schedule is made of; none of these comes before the run is over. */
  #planned(random: Random, node: string): Hints {
    const cwd = this.daemon.workDir
    return {
      schedule: random.pick<Json>([{ at: far }, { every: 31_536_000 }, { cron: '0 0 29 2 *', tz: 'Europe/Berlin' }]),
      action: random.pick<Json>([
        { type: 'message', node_id: node, body: 'go' },
        { type: 'create_node', prompt: 'go', cwd, engine: 'exec', exec: { argv: ['true'] } },
        { type: 'bash', cwd, command: 'true' },
        { type: 'publish', ref: noThing, event: 'built', payload: null },
      ]),
    }
  }

  /** What objects are made of, and what is said of them. Nobody listens where a receiver of this kind is. */
  #declared({ name }: Operation, random: Random, node: string): Hints {
    const isMade = name === 'customObjects.register' || name === 'customObjects.unregister'
    const payload = random.pick<Json>([{}, null, 'text', [1, [2]], { a: { b: ['c', 'x'.repeat(5000)] } }, nested(60)])
    const built = { event: 'built', payload }
    return {
      ref: isMade ? random.pick([fuzzed, noThing]) : random.pick([thing, thing, thing, fuzzed, noThing]),
      catalog: random.pick<Json>(catalogs),
      receiver: random.pick<Json>(receivers),
      watches: random.pick<Json>([
        [],
        [],
        [{ source: thing }],
        [{ source: noThing }],
        [{ source: node, events: ['node.done'] }],
      ]),
      events: name === 'customObjects.publishBatch' ? [built, built] : random.pick<Json>([null, ['built']]),
      event: random.pick(['built', 'built', 'built', 'torn']),
      payload,
      ids: [noDelivery],
      watcher: random.pick([node, thing]),
      source: random.pick([node, thing, fuzzed, noThing]),
      overlap: 0,
      after: '0',
    }
  }

  /** What the daemon says of itself when all is over. */
  async complaints(): Promise<string[]> {
    const status = await this.daemon.client().system.status()
    const log = readFileSync(join(this.daemon.data.log, 'daemon.log'), 'utf8')
    const failures = log.split('\n').filter((line) => line.includes('a request failed'))
    return [
      ...status.parts.filter(({ state }) => state === 'absent').map(({ name }) => `${name} is not there`),
      ...failures.slice(0, 20).map((line) => `in the log: ${line.slice(0, 600)}`),
    ]
  }
}
