import type { InputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import type { JobEnd } from '#common/contract/job.internal.js'
import { jobLimits } from '#common/contract/job.schema.js'
import { isSvcError } from '#common/kernel/errors.js'
import { TokenFilter } from '#machine/output/token.redaction.js'
import type { CommandEnd, RunningCommand } from '#machine/process/command.js'
import { startCommand } from '#machine/process/start.command.js'
import type { SandboxPlan } from '#machine/sandbox/sandbox.plan.js'
import { JobOutputWriter } from './job.output.js'

export type JobOrder = InputOf<(typeof contract)['host.job.start']>

export interface JobSurroundings {
  readonly directory: string
  /** `<host>:<incarnation>:<job>`, in the environment of all that the job starts. */
  readonly mark: string
  readonly dataMark: string
  plan(): Promise<SandboxPlan>
  /** Output as it comes, without the node's token, and where it begins in the whole. */
  onOutput(chunk: Buffer, offset: number): void
}

export type JobOutcome = Pick<JobEnd, 'status' | 'exit_code' | 'signal' | 'output_bytes' | 'truncated' | 'error'>

interface Killing {
  readonly status: 'killed' | 'lost'
  readonly graceMs: number
  readonly error: string | null
}

/** A job as it runs: a shell in its node's sandbox, a child of the host. */
export class JobProcess {
  /** Resolves when the job has ended and nothing that it started lives. */
  readonly ended: Promise<JobOutcome>
  readonly output: JobOutputWriter
  #command: RunningCommand | undefined
  #killing: Killing | undefined

  constructor(
    readonly order: JobOrder,
    private readonly around: JobSurroundings,
  ) {
    this.output = new JobOutputWriter(around.directory)
    this.ended = this.#run()
  }

  cancel(): void {
    this.#kill({ status: 'killed', graceMs: jobLimits.graceMs, error: null })
  }

  /** The host ends: what becomes of the job is not known to be what was wanted. */
  abandon(graceMs: number): void {
    this.#kill({ status: 'lost', graceMs, error: 'its host was stopped' })
  }

  #kill(how: Killing): void {
    if (this.#killing) return
    this.#killing = how
    void this.#command?.kill(how.graceMs)
  }

  async #run(): Promise<JobOutcome> {
    try {
      const plan = await this.around.plan()
      if (this.#killing) return this.#outcome({ code: null, signal: null, refusal: null })
      return this.#outcome(await this.#carryOut(plan))
    } catch (error) {
      return { ...this.#outcome({ code: null, signal: null, refusal: null }), ...failed(error) }
    } finally {
      this.output.close()
    }
  }

  async #carryOut(plan: SandboxPlan): Promise<CommandEnd> {
    const { order, around } = this
    const [out, err] = [this.#hearing(), this.#hearing()]
    const command = startCommand({
      argv: ['bash', '-c', order.command],
      cwd: order.cwd,
      env: environmentOf(order, around.dataMark),
      plan,
      mark: { name: 'SVC_JOB_MARK', value: around.mark },
      input: false,
      onStdout: out.add,
      onStderr: err.add,
    })
    this.#command = command
    const end = await command.ended
    // What it left in the background ends with it; a cancel that is under way has the longer grace.
    await command.kill(this.#killing?.graceMs ?? 0)
    out.finish()
    err.finish()
    return end
  }

  #hearing(): { add: (chunk: Buffer) => void; finish: () => void } {
    const filter = new TokenFilter(this.order.token)
    const take = (chunk: Buffer): void => {
      if (!chunk.length) return
      const offset = this.output.size
      this.output.add(chunk)
      this.around.onOutput(chunk, offset)
    }
    return { add: (chunk) => take(filter.push(chunk)), finish: () => take(filter.rest()) }
  }

  #outcome({ code, signal, refusal }: CommandEnd): JobOutcome {
    const { size, truncated, refusal: unkept } = this.output
    // a sandbox that was killed while it was made says that it could not be made
    const refused = !this.#killing && refusal && `bash could not be started in ${this.order.cwd}: ${refusal.message}`
    const unwritten = unkept === undefined ? null : `its output could not be kept whole: ${unkept}`
    return {
      status: this.#killing?.status ?? 'exited',
      exit_code: code,
      signal,
      output_bytes: size,
      truncated,
      error: this.#killing?.error || refused || unwritten,
    }
  }
}

const failed = (error: unknown): Pick<JobOutcome, 'status' | 'error'> => {
  if (isSvcError(error)) return { status: 'exited', error: `${error.code}: ${error.message}` }
  throw error
}

/** Who the job is and where the daemon is; the plan says the rest. */
const environmentOf = (order: JobOrder, dataMark: string): Record<string, string> => ({
  // A bash whose input is a socket takes itself for a remote login at level 1 and reads .bashrc.
  SHLVL: '1',
  SVC_DATA_MARK: dataMark,
  SVC_BASE_URL: order.base_url,
  SVC_TOKEN: order.token,
  SVC_NODE_ID: order.node_id,
})
