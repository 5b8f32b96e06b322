import { Inject, Injectable } from '@nestjs/common'
import type { Access } from '#common/contract/access.operations.js'
import type { Operation, OutputOf } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import { type AnswerOf, Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock, isoTime } from '#common/kernel/clock.js'
import { baseUrlOf, SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { isSvcError } from '#common/kernel/errors.js'
import { version } from '#common/kernel/version.js'
import { AccessService } from '../access/access.service.js'
import { SharedCounters } from '../limit/shared.counter.js'

type Status = OutputOf<(typeof contract)['system.status']>
type Part = Status['parts'][number]
type WriterStatus = OutputOf<(typeof contract)['lifecycle.status']>
type ObjectsStatus = OutputOf<(typeof contract)['objects.status']>

/** How long a part has to answer before it counts as absent (ms). */
const patience = 1500
/** Silence of a host after which it counts as degraded, and as absent (ms): its heartbeat comes every 2 s. */
const late = 6000
const lost = 30_000

/** Parts that nodes work without while they are degraded. */
const spare: ReadonlySet<string> = new Set(['database', 'models', 'objects', 'redis', 'scheduler'])

/** Whether the gateway's account could reach rows of other services. */
const REACH = `SELECT EXISTS (SELECT FROM pg_namespace
  WHERE nspname IN ('canvas', 'models', 'objects', 'scheduler') AND has_schema_privilege(oid, 'USAGE')) AS wide`
const shared = 'All services share one account: each of them can write everything in it, the canvas too.'

const isSpare = (name: string): boolean => spare.has(name) || name.startsWith('listener ')

/** One that is open and has something to say is degraded too: whoever looks at the status should know. */
const listenerPart = ({ address, state, detail }: Access['listen'][number]): Part => ({
  name: `listener ${address}`,
  state: state === 'open' && detail === null ? 'ready' : 'degraded',
  detail,
  version: null,
})

/** What waits for a person is told to the owner alone: it names objects that others may not see. */
const objectsPart = ({ version, paused, dead, full }: ObjectsStatus, isOwner: boolean): Part => {
  const said = [
    ...(full.length > 0
      ? [`What they watch can publish no more, for too much waits for them: ${full.join(', ')}.`]
      : []),
    ...(paused > 0 ? [`Receivers that were paused after failures: ${paused}.`] : []),
    ...(dead > 0 ? [`Deliveries that were given up: ${dead}.`] : []),
  ]
  const fine = !isOwner || said.length === 0
  return { name: 'objects', state: fine ? 'ready' : 'degraded', detail: fine ? null : said.join(' '), version }
}

const absent = (name: string, error: unknown): Part => ({
  name,
  state: 'absent',
  detail: isSvcError(error) ? error.message : 'It does not answer.',
  version: null,
})

/** The daemon and its parts, as far as they answer. What doesn't answer is absent, never an error. */
@Injectable()
export class StatusService {
  readonly #startedAt: string

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Database) private readonly database: Database,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(SharedCounters) private readonly counters: SharedCounters,
    @Inject(AccessService) private readonly access: AccessService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#startedAt = isoTime(clock.now())
  }

  async read(ctx: Context): Promise<Status> {
    const [database, redis, writer, models, scheduler, objects] = await Promise.all([
      this.#database(),
      this.#redis(),
      this.#ask(contract['lifecycle.status'], ctx),
      this.#ask(contract['models.ready'], ctx),
      this.#ask(contract['scheduler.status'], ctx),
      this.#ask(contract['objects.status'], ctx),
    ])
    const hosts = 'answer' in writer ? this.#hosts(writer.answer) : []
    const parts: Part[] = [
      { name: 'gateway', state: 'ready', detail: null, version },
      { name: 'bus', state: this.bus.connected ? 'ready' : 'absent', detail: null, version: null },
      database,
      redis,
      ...this.access.listen.map(listenerPart),
      'answer' in writer
        ? { name: 'lifecycle', state: 'ready', detail: null, version: writer.answer.version }
        : absent('lifecycle', writer.error),
      'answer' in models
        ? {
            name: 'models',
            state: models.answer.ready ? 'ready' : 'degraded',
            detail: models.answer.remedy,
            version: null,
          }
        : absent('models', models.error),
      'answer' in scheduler
        ? {
            name: 'scheduler',
            state: scheduler.answer.fault === null ? 'ready' : 'degraded',
            detail: scheduler.answer.fault,
            version: scheduler.answer.version,
          }
        : absent('scheduler', scheduler.error),
      'answer' in objects ? objectsPart(objects.answer, ctx.actor.kind === 'owner') : absent('objects', objects.error),
      ...(hosts.length > 0 ? hosts : [absent('host', undefined)]),
    ]
    return {
      version,
      ready: parts.every(({ name, state }) => state === 'ready' || (state === 'degraded' && isSpare(name))),
      started_at: this.#startedAt,
      base_url: baseUrlOf(this.settings),
      parts,
      nodes: 'answer' in writer ? writer.answer.nodes : {},
      sandbox:
        'answer' in writer
          ? writer.answer.hosts.flatMap(({ host_id, sandbox }) => (sandbox ? [{ host_id, ...sandbox }] : []))
          : [],
      brokers: 'answer' in writer ? brokersOf(writer.answer) : null,
      limits: {
        ...('answer' in writer ? writer.answer.limits : {}),
        ...('answer' in scheduler ? scheduler.answer.limits : {}),
        ...('answer' in objects ? objects.answer.limits : {}),
        body_bytes: this.settings.SVC_BODY_LIMIT,
        sse_clients: this.settings.SVC_SSE_CLIENTS,
        requests_per_minute: this.settings.SVC_RATE_LIMIT,
      },
    }
  }

  async #ask<O extends Operation>(entry: O, ctx: Context): Promise<{ answer: AnswerOf<O> } | { error: unknown }> {
    try {
      return { answer: (await this.bus.call(entry as Operation, ctx, {}, { timeout: patience })) as AnswerOf<O> }
    } catch (error) {
      return { error }
    }
  }

  async #redis(): Promise<Part> {
    const fault = await this.counters.fault()
    return { name: 'redis', state: fault === null ? 'ready' : 'degraded', detail: fault, version: null }
  }

  async #database(): Promise<Part> {
    const name = 'database'
    let callOff = (): void => undefined
    const late = new Promise<Part>((resolve) => {
      callOff = this.clock.after(patience, () => resolve(absent(name, undefined)))
    })
    const answer = this.database.query<{ wide: boolean }>(REACH).then(
      ([row]): Part =>
        row?.wide
          ? { name, state: 'degraded', detail: shared, version: null }
          : { name, state: 'ready', detail: null, version: null },
      (error: unknown) => absent(name, error),
    )
    return Promise.race([answer, late]).finally(callOff)
  }

  #hosts({ hosts }: WriterStatus): Part[] {
    return hosts.map((host) => {
      const silent = this.clock.now() - Date.parse(host.seen_at)
      return {
        name: hosts.length === 1 ? 'host' : `host ${host.host_id}`,
        state: silent > lost ? 'absent' : silent > late ? 'degraded' : 'ready',
        detail: silent > late ? `It was last heard ${Math.round(silent / 1000)} s ago.` : null,
        version: host.version,
      }
    })
  }
}

const brokersOf = ({ hosts }: WriterStatus): Status['brokers'] => {
  const sum = (of: (host: WriterStatus['hosts'][number]) => number): number =>
    hosts.reduce((total, host) => total + of(host), 0)
  return { live: sum((host) => host.live), warm: sum((host) => host.warm), cap: sum((host) => host.cap) }
}
