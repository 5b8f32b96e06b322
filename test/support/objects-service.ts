import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { service as definition, ObjectsModule } from '../../apps/objects/src/objects.module.js'
import { contract, type OutputOf } from '../../libs/common/src/contract/index.js'
import { type Settings, settings } from '../../libs/common/src/kernel/config.js'
import { type Actor, type Context, systemContext } from '../../libs/common/src/kernel/context.js'
import { type RunningService, startService } from '../../libs/common/src/kernel/service.js'
import { joinBus, type TestPeer } from '../../libs/common/src/testing/bus.js'
import { type TestDatabase, testDatabase } from '../../libs/common/src/testing/database.js'
import { logInto } from '../../libs/common/src/testing/log-into.js'
import { natsUrlAs, testNats } from '../../libs/common/src/testing/nats.js'
import { MovedClock } from './moved-clock.js'

type Operations = typeof contract
type Name = keyof Operations & string

export interface ObjectsOptions {
  readonly settings?: Partial<Record<keyof Settings, unknown>>
}

/** As the gateway calls for the owner. */
export const ownerCall = (more: Partial<Context> = {}): Context => ({
  ...systemContext('gateway'),
  actor: { kind: 'owner', principal: 'owner', tokenId: 'tok_1', scopes: ['*'] },
  ...more,
})

export const nodeCall = (nodeId: string, more: Partial<Actor> = {}): Context =>
  ownerCall({
    actor: {
      kind: 'node',
      principal: `node:${nodeId}`,
      tokenId: null,
      scopes: ['svc:act'],
      nodeId,
      generation: 1,
      ...more,
    },
  })

export const appCall = (appId: string, more: Partial<Actor> = {}): Context =>
  ownerCall({
    actor: { kind: 'app', principal: `app:${appId}`, tokenId: 'tok_2', scopes: ['svc:act'], appId, ...more },
  })

/** The service over a database of its own, with the gateway played by the test. */
export class ObjectsUnderTest {
  readonly logged: string[] = []
  readonly #running = new Set<RunningService>()

  private constructor(
    readonly database: TestDatabase,
    readonly dataDir: string,
    readonly nats: string,
    readonly gateway: TestPeer,
    readonly clock: MovedClock,
    private readonly options: ObjectsOptions,
  ) {}

  static async start(options: ObjectsOptions = {}): Promise<ObjectsUnderTest> {
    const nats = testNats().url
    const [database, dataDir, gateway] = await Promise.all([
      testDatabase(),
      mkdtemp(join(tmpdir(), 'svc-objects-')),
      joinBus(nats, 'gateway'),
    ])
    const objects = new ObjectsUnderTest(database, dataDir, nats, gateway, new MovedClock(), options)
    try {
      await objects.another()
      return objects
    } catch (error) {
      await objects.stop()
      throw error
    }
  }

  /** Another process of the service, as far as database and bus can tell. */
  async another(more: Partial<Record<keyof Settings, unknown>> = {}): Promise<RunningService> {
    const parsed = settings.parse({
      SVC_DATA_DIR: this.dataDir,
      DATABASE_URL: this.database.urlFor('objects'),
      NATS_URL: natsUrlAs(this.nats, 'objects'),
      ...this.options.settings,
      ...more,
    })
    const timed = {
      ...definition,
      module: (setup: Parameters<typeof ObjectsModule.forRoot>[0]) => ObjectsModule.forRoot(setup, this.clock),
    }
    const log = logInto((line) => this.logged.push(line))
    const running = await startService(timed, { name: 'objects', settings: parsed, log })
    this.#running.add(running)
    return running
  }

  get service(): RunningService {
    const [first] = this.#running
    if (!first) throw new Error('no service runs')
    return first
  }

  async stopService(running = this.service): Promise<void> {
    this.#running.delete(running)
    await running.close()
  }

  call<N extends Name>(
    name: N,
    input: Record<string, unknown>,
    ctx: Context = ownerCall(),
  ): Promise<OutputOf<Operations[N]>> {
    return this.gateway.bus.call(contract[name], ctx, input as never) as Promise<OutputOf<Operations[N]>>
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.close()))
    await this.gateway.close()
    await this.database.drop()
    await rm(this.dataDir, { recursive: true })
  }
}
