import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, type OwnDatabase, TestGateway, TestWatcher } from './gateway.fixture.js'
import { WireLifecycle } from './wire-lifecycle.fixture.js'

interface SharedDatabase extends OwnDatabase {
  query<T>(sql: string, values?: unknown[]): Promise<T[]>
}

/** What the app of a test is granted. */
export const held = ['svc:llm', 'svc:act', 'svc:memory:rw:app', 'svc:files:rw:user:/srv']

/** Two gateways on one database and one bus, as replicas are, and one file of the owner's token. */
export class TwoGateways {
  #apps = 0

  private constructor(
    readonly here: TestGateway,
    readonly there: TestGateway,
    readonly wire: WireLifecycle,
    readonly database: SharedDatabase,
    readonly ownerFile: string,
    private readonly natsUrl: string,
    private readonly directory: string,
  ) {}

  static async start(natsUrl: string, database: SharedDatabase): Promise<TwoGateways> {
    const directory = mkdtempSync(join(tmpdir(), 'svc-owner-'))
    const ownerFile = join(directory, 'owner.token')
    const wire = await WireLifecycle.start(natsUrl)
    const here = await TestGateway.start(natsUrl, database, { SVC_OWNER_TOKEN_FILE: ownerFile })
    const there = await TestGateway.start(natsUrl, database, { SVC_OWNER_TOKEN_FILE: ownerFile })
    return new TwoGateways(here, there, wire, database, ownerFile, natsUrl, directory)
  }

  async stop(): Promise<void> {
    await this.there.running.close()
    await this.here.stop()
    await this.wire.stop()
    rmSync(this.directory, { recursive: true, force: true })
  }

  /** One more, as after a restart; to be closed by the test. */
  another(): Promise<TestGateway> {
    return TestGateway.start(this.natsUrl, this.database, { SVC_OWNER_TOKEN_FILE: this.ownerFile })
  }

  get owner(): string {
    return readFileSync(this.ownerFile, 'utf8').trim()
  }

  /** As the owner, of the first gateway. */
  ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.here.ask({ method, path, token: this.owner, ...(body !== undefined && { body }), headers })
  }

  /** A new app that may do what is `held`. */
  async app(): Promise<{ id: string; name: string }> {
    this.#apps += 1
    return (await this.ask('POST', '/v1/apps', { name: `notes-${this.#apps}`, scopes: held })).body
  }

  async mint(app: string, body: object = {}): Promise<Answer['body']> {
    const answer = await this.ask('POST', '/v1/tokens', { app, ...body })
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    return answer.body
  }

  /** What a token stands for, as a gateway says. */
  self(token: string, gateway = this.here): Promise<Answer> {
    return gateway.ask({ path: '/v1/token', token })
  }

  /** A stream of events that this token opens at the second gateway. */
  watch(token: string, node: string): Promise<TestWatcher> {
    return TestWatcher.open(this.there, `/v1/nodes/${node}/events`, { authorization: `Bearer ${token}` })
  }
}
