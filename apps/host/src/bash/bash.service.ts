import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import type { InputOf, OutputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import { machineLimits } from '#common/contract/machine.schema.js'
import { BusConnection } from '#common/kernel/bus/connection.js'
import { systemClock } from '#common/kernel/clock.js'
import type { Actor, Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { privateDirectory } from '#common/kernel/servers/data-directory.js'
import { LOG } from '#common/kernel/service.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { SandboxPlanner } from '../sandbox/sandbox.planner.js'
import { nodeDirectory, ownerDirectory } from './bash.directory.js'
import { ownerEnvironment } from './bash.environment.js'
import type { ExecutionOrder } from './bash.execution.js'
import { BashRecords } from './bash.records.js'
import { CommandRuns } from './command.runs.js'

type Asked = InputOf<(typeof contract)['bash.run']>
type Answer = OutputOf<(typeof contract)['bash.run']>
type Place = ExecutionOrder['place']

/** Whatever PATH the caller gives the command. */
const shell = existsSync('/bin/bash') ? '/bin/bash' : 'bash'

/** Bytes that stand around an answer in its message, generously. */
const aroundAnswer = 4096

/** Single shell commands of the person and of nodes. They are this host's children and end with it. */
@Injectable()
export class BashService implements OnModuleInit, BeforeApplicationShutdown {
  readonly #runs: CommandRuns
  #count = 0

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(SandboxPlanner) private readonly planner: SandboxPlanner,
    @Inject(BusConnection) private readonly connection: BusConnection,
    @Inject(LOG) log: Logger,
  ) {
    const records = new BashRecords(privateDirectory(join(place.data.path, 'bash')), systemClock, log)
    this.#runs = new CommandRuns(records, place.bashCap)
  }

  onModuleInit(): Promise<void> {
    return this.#runs.open()
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#runs.close()
  }

  /**
   * Runs a command once. With an idempotency key a repetition gets the first answer.
   *
   * @throws SvcError `not_found`, `path_outside_scope`, `file_access_denied`, `validation_failed`, `quota_exceeded`;
   * with a key `idempotency_in_progress`, `idempotency_key_reused`, `outcome_unknown`, `storage_full`.
   */
  run(ctx: Context, asked: Asked): Promise<Answer> {
    return this.#runs.run(ctx, {
      holder: holderOf(ctx.actor),
      recorded: asked,
      // `--`: a command may begin with a dash
      argv: [shell, '-c', '--', asked.command],
      timeout: asked.timeout,
      stdin: asked.stdin,
      outputBytes: machineLimits.outputBytes,
      largest: this.connection.maxPayload - aroundAnswer,
      place: () => this.#placeOf(ctx.actor, asked),
    })
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
