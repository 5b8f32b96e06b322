import { homedir } from 'node:os'
import { join } from 'node:path'
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import type { InputOf, OutputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import { systemClock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { privateDirectory } from '#common/kernel/servers/data-directory.js'
import { LOG } from '#common/kernel/service.js'
import { ownerDirectory } from '../bash/bash.directory.js'
import { ownerEnvironment } from '../bash/bash.environment.js'
import type { ExecutionOrder } from '../bash/bash.execution.js'
import { BashRecords } from '../bash/bash.records.js'
import { CommandRuns } from '../bash/command.runs.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'

type Asked = InputOf<(typeof contract)['host.argv.run']>
type Place = ExecutionOrder['place']
type Answer = OutputOf<(typeof contract)['host.argv.run']>

/** Bytes of output that are kept of one program: it says why it failed, nobody reads more. */
const outputBytes = 64 * 1024
/** Bytes of an answer as JSON: a control character takes six of them. */
const largest = 512 * 1024

/**
 * Programs that the owner named for the daemon to start: with the owner's authority and no sandbox, in an environment
 * without anything of the daemon's. They are this host's children, and nothing that one started outlives it.
 */
@Injectable()
export class ArgvService implements OnModuleInit, BeforeApplicationShutdown {
  readonly #runs: CommandRuns
  /** The key under which each lane has a program running. */
  readonly #lanes = new Map<string, string | undefined>()
  #count = 0

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(LOG) log: Logger,
  ) {
    const records = new BashRecords(privateDirectory(join(place.data.path, 'argv')), systemClock, log)
    this.#runs = new CommandRuns(records, place.bashCap)
  }

  onModuleInit(): Promise<void> {
    return this.#runs.open()
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#runs.close()
  }

  /**
   * Runs a program once for its key, and waits for its end. While another one of its lane runs it is not begun, and its key
   * not used: `idempotency_in_progress`.
   *
   * @throws SvcError `owner_required` for anybody but the daemon itself; `not_found`, `not_a_directory`, `file_access_denied`,
   * `quota_exceeded`, `idempotency_in_progress`, `idempotency_key_reused`, `outcome_unknown`, `storage_full`.
   */
  async run(ctx: Context, asked: Asked): Promise<Answer> {
    if (ctx.actor.kind !== 'system') throw new SvcError('owner_required')
    const { lane } = asked
    if (lane === undefined) return this.#run(ctx, asked)
    if (this.#lanes.has(lane)) {
      // whoever asks again under the key of the one that runs is told by it
      if (this.#lanes.get(lane) === ctx.idempotencyKey) return this.#run(ctx, asked)
      throw new SvcError('idempotency_in_progress', 'The program before this one runs still.')
    }
    this.#lanes.set(lane, ctx.idempotencyKey)
    return this.#run(ctx, asked).finally(() => this.#lanes.delete(lane))
  }

  #run(ctx: Context, { argv, cwd, env, stdin, timeout }: Asked): Promise<Answer> {
    const { principal } = ctx.actor
    const [program, ...rest] = argv as [string, ...string[]]
    const at = cwd ?? homedir()
    return this.#runs.run(ctx, {
      holder: principal,
      recorded: { cwd: at, command: argv, timeout, env, stdin },
      argv: [program, ...rest],
      timeout,
      stdin,
      outputBytes,
      largest,
      place: () => this.#placeOf(at, env),
    })
  }

  async #placeOf(cwd: string, env: Asked['env']): Promise<Place> {
    this.#count += 1
    const { hostId, incarnation, dataMark } = this.place
    return {
      cwd: await this.#directory(cwd),
      env: { ...ownerEnvironment(), ...env, SVC_DATA_MARK: dataMark },
      mark: { name: 'SVC_JOB_MARK', value: `${hostId}:${incarnation}:argv-${this.#count}` },
    }
  }

  async #directory(cwd: string): Promise<string> {
    try {
      return await ownerDirectory(cwd)
    } catch (error) {
      throw hasCode(error, 'validation_failed') ? new SvcError('not_a_directory', undefined, { path: cwd }) : error
    }
  }
}
