import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { service as definition, SchedulerModule } from '../../apps/scheduler/src/scheduler.module.js'
import {
  type Cron,
  type CronFire,
  contract,
  type InputOf,
  type OutputOf,
} from '../../libs/common/src/contract/index.js'
import type { Clock } from '../../libs/common/src/kernel/clock.js'
import { type Settings, settings } from '../../libs/common/src/kernel/config.js'
import { type Actor, type Context, systemContext } from '../../libs/common/src/kernel/context.js'
import { type RunningService, startService } from '../../libs/common/src/kernel/service.js'
import { joinBus, type TestPeer } from '../../libs/common/src/testing/bus.js'
import { type TestDatabase, testDatabase } from '../../libs/common/src/testing/database.js'
import { logInto } from '../../libs/common/src/testing/log-into.js'
import { natsUrlAs, testNats } from '../../libs/common/src/testing/nats.js'
import { testRedis } from '../../libs/common/src/testing/redis.js'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { MovedClock } from './moved-clock.js'
import { PlayedWork } from './played-work.js'

type Operations = typeof contract
type Name = keyof Operations & string

export interface SchedulerOptions {
  readonly settings?: Partial<Record<keyof Settings, unknown>>
  /** What tells it the time; one that the test can move unless given. */
  readonly clock?: Clock
  /** Whether lifecycle is played; yes unless given: a suite may run the real one beside. */
  readonly played?: boolean
  /** Whether a process of the service runs from the start; yes unless given. */
  readonly running?: boolean
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
      scopes: ['svc:act', 'svc:llm', 'svc:schedule'],
      nodeId,
      generation: 1,
      ...more,
    },
  })

export const appCall = (appId: string, profile?: string): Context =>
  ownerCall({
    actor: {
      kind: 'app',
      principal: profile === undefined ? `app:${appId}` : `app:${appId}:profile:${profile}`,
      tokenId: 'tok_2',
      scopes: ['svc:act', 'svc:llm', 'svc:schedule'],
      appId,
      ...(profile !== undefined && { profile }),
    },
  })

/** The service over a database of its own, with gateway and lifecycle played by the test. */
export class SchedulerUnderTest {
  readonly logged: string[] = []
  readonly #running = new Set<RunningService>()

  private constructor(
    readonly database: TestDatabase,
    readonly dataDir: string,
    readonly nats: string,
    readonly redis: string,
    readonly gateway: TestPeer,
    /** As lifecycle calls. */
    readonly work: PlayedWork,
    readonly clock: MovedClock,
    private readonly options: SchedulerOptions,
  ) {}

  static async start(options: SchedulerOptions = {}): Promise<SchedulerUnderTest> {
    const nats = testNats().url
    const [database, dataDir, redis, gateway] = await Promise.all([
      testDatabase(),
      mkdtemp(join(tmpdir(), 'svc-scheduler-')),
      testRedis(),
      joinBus(nats, 'gateway'),
    ])
    const clock = new MovedClock()
    const work = new PlayedWork(nats, options.clock ?? clock)
    const scheduler = new SchedulerUnderTest(database, dataDir, nats, redis.url, gateway, work, clock, options)
    try {
      if (options.played ?? true) await work.join()
      if (options.running ?? true) await scheduler.another()
      return scheduler
    } catch (error) {
      await scheduler.stop()
      throw error
    }
  }

  /** Another process of the service, as far as database, Redis and bus can tell. */
  async another(more: Partial<Record<keyof Settings, unknown>> = {}): Promise<RunningService> {
    const parsed = settings.parse({
      SVC_DATA_DIR: this.dataDir,
      DATABASE_URL: this.database.urlFor('scheduler'),
      NATS_URL: natsUrlAs(this.nats, 'scheduler'),
      REDIS_URL: this.redis,
      ...this.options.settings,
      ...more,
    })
    const timed = {
      ...definition,
      module: (setup: Parameters<typeof SchedulerModule.forRoot>[0]) =>
        SchedulerModule.forRoot(setup, this.options.clock ?? this.clock),
    }
    const log = logInto((line) => this.logged.push(line))
    const running = await startService(timed, { name: 'scheduler', settings: parsed, log })
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

  /** Parsed as the gateway parses; by the owner, each hour a message to a node of its own unless given otherwise. */
  create(more: Partial<InputOf<Operations['crons.create']>> = {}, ctx?: Context): Promise<Cron> {
    const action = more.action ?? { type: 'message', node_id: this.work.node(), body: 'tick', tier: 'normal' }
    const asked = contract['crons.create'].body.parse({ schedule: { every: 3600 }, ...more, action })
    return this.call('crons.create', asked, ctx)
  }

  retrieve(id: string, ctx?: Context): Promise<Cron> {
    return this.call('crons.retrieve', { id }, ctx)
  }

  async fires(id: string): Promise<CronFire[]> {
    return (await this.call('crons.fires.list', { id, limit: 200 })).data
  }

  /** The newest line of a schedule once it is so. */
  until(id: string, status: CronFire['status']): Promise<CronFire> {
    return waitFor(
      async () => {
        const [newest] = await this.fires(id)
        return newest?.status === status ? newest : null
      },
      { what: `the newest firing of ${id} to be ${status}` },
    )
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.close()))
    await Promise.all([this.gateway.close(), this.work.leave()])
    await this.database.drop()
    await rm(this.dataDir, { recursive: true })
  }
}
