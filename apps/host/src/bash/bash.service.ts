import { join } from 'node:path'
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import type { InputOf, OutputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import { BusConnection } from '#common/kernel/bus/connection.js'
import { systemClock } from '#common/kernel/clock.js'
import type { Actor, Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { privateDirectory } from '#common/kernel/servers/data-directory.js'
import { LOG } from '#common/kernel/service.js'
import type { Command } from '#machine/process/command.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { SandboxPlanner } from '../sandbox/sandbox.planner.js'
import { nodeDirectory, ownerDirectory } from './bash.directory.js'
import { ownerEnvironment } from './bash.environment.js'
import { type Execution, execute } from './bash.execution.js'
import { BashRecords } from './bash.records.js'

type Asked = InputOf<(typeof contract)['bash.run']>
type Answer = OutputOf<(typeof contract)['bash.run']>
type Place = Pick<Command, 'cwd' | 'env' | 'plan' | 'mark'>

/** Bytes that stand around an answer in its message, generously. */
const aroundAnswer = 4096

/** Single shell commands of the person and of nodes. They are this host's children and end with it. */
@Injectable()
export class BashService implements OnModuleInit, BeforeApplicationShutdown {
  readonly #records: BashRecords
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<Execution>>()
  #count = 0

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(SandboxPlanner) private readonly planner: SandboxPlanner,
    @Inject(BusConnection) private readonly connection: BusConnection,
    @Inject(LOG) log: Logger,
  ) {
    this.#records = new BashRecords(privateDirectory(join(place.data.path, 'bash')), systemClock, log)
  }

  onModuleInit(): Promise<void> {
    return this.#records.open()
  }

  /** Nothing is left running that nobody waits for. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#closing.abort(new SvcError('service_unavailable', 'The host stops.', { service: 'host' }))
    await Promise.allSettled(this.#running)
    await this.#records.close()
  }

  /**
   * Runs a command once. With an idempotency key a repetition gets the first answer.
   *
   * @throws SvcError `not_found`, `path_outside_scope`, `file_access_denied`, `validation_failed`, `quota_exceeded`;
   * with a key `idempotency_in_progress`, `idempotency_key_reused`, `outcome_unknown`, `storage_full`.
   */
  async run(ctx: Context, asked: Asked): Promise<Answer> {
    const { idempotencyKey: key, actor } = ctx
    if (key === undefined) return this.#perform(ctx, asked)
    const claim = await this.#records.claim(holderOf(actor), key, asked)
    if (!('keep' in claim)) {
      if (ctx.notes) ctx.notes.replayed = true
      return claim
    }
    const end = await this.#attempt(ctx, asked).catch((error: unknown) => {
      claim.forsake()
      throw error
    })
    switch (end.kind) {
      case 'answer':
        await claim.keep(end.answer)
        return end.answer
      case 'refused':
        await claim.release()
        throw end.error
      case 'cut_off':
        claim.forsake()
        throw end.error
    }
  }

  async #perform(ctx: Context, asked: Asked): Promise<Answer> {
    const end = await this.#attempt(ctx, asked)
    if (end.kind === 'answer') return end.answer
    throw end.error
  }

  async #attempt({ actor, signal }: Context, asked: Asked): Promise<Execution> {
    const { bashCap } = this.place
    if (this.#running.size >= bashCap) {
      const message = `${bashCap} commands run already on this host; SVC_BASH_CAP says how many may.`
      return {
        kind: 'refused',
        error: new SvcError('quota_exceeded', message, { limit: bashCap, retry_after_ms: 1000 }),
      }
    }
    const execution = this.#placeOf(actor, asked).then(
      (place) =>
        execute({
          asked,
          place,
          signal: AbortSignal.any([signal, this.#closing.signal]),
          largest: this.connection.maxPayload - aroundAnswer,
          clock: systemClock,
        }),
      (error: unknown): Execution => ({ kind: 'refused', error }),
    )
    this.#running.add(execution)
    try {
      return await execution
    } finally {
      this.#running.delete(execution)
    }
  }

  async #placeOf(actor: Actor, { cwd, env = {} }: Asked): Promise<Place> {
    this.#count += 1
    const { hostId, incarnation, dataMark } = this.place
    const mark = { name: 'SVC_JOB_MARK', value: `${hostId}:${incarnation}:bash-${this.#count}` }
    const marked = { ...env, SVC_DATA_MARK: dataMark }
    if (actor.kind === 'owner')
      return { cwd: await ownerDirectory(cwd), env: { ...ownerEnvironment(), ...marked }, mark }
    const { nodeId, place, scopes } = actor
    // What an application may see of a machine is decided for its nodes only.
    if (nodeId === undefined || place === undefined) throw new SvcError('node_token_required')
    const plan = await this.planner.planFor({ nodeId, cwd: place.cwd, scopes, gitDir: place.git_dir })
    return { cwd: await nodeDirectory(plan, cwd), env: marked, plan, mark }
  }
}

/** Whose a key is. What is begun without a token, for a schedule, has keys that can be guessed, and that no token reaches. */
const holderOf = ({ principal, tokenId }: Actor): string =>
  tokenId === null ? `${principal} without a token` : principal
