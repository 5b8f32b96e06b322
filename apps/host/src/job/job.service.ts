import { join } from 'node:path'
import { Inject, Injectable } from '@nestjs/common'
import type { HostedJob, JobEnd, KeptOutput } from '#common/contract/job.internal.js'
import { jobLimits } from '#common/contract/job.schema.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { type Clock, isoTime, systemClock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { equippedWith } from '../broker/hosted-node.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { SandboxPlanner } from '../sandbox/sandbox.planner.js'
import { readOutput, storedBytes } from './job.output.js'
import { type JobOrder, type JobOutcome, JobProcess } from './job.process.js'
import { JobStore } from './job.store.js'
import { LiveFeed } from './live.feed.js'

/** Grace of every job when the host itself is told to end (ms). */
const shutdownGrace = 2000
/** What is told of the end of an output: lines, and the bytes that they are taken from. */
const tailLines = 20
const tailBytes = 3000
/** Files of ended jobs are kept this long (ms), this many bytes of all, and of this many jobs. */
const keep = { age: jobLimits.keptMs, bytes: 2 * 1024 ** 3, jobs: 5000 }
const sweepEvery = 3_600_000

/** No database keeps U+0000 in a text. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd')

/** The background jobs of this machine. None is ever run twice, and each end is kept until lifecycle has taken it. */
@Injectable()
export class JobService {
  /** Called when there is another end to tell. */
  onEnd: () => void = () => undefined
  /** Called whenever the number of running jobs changes. */
  onCount: () => void = () => undefined
  readonly #running = new Map<string, JobProcess>()
  readonly #untold = new Map<string, JobEnd>()
  readonly #endings = new Map<string, Promise<void>>()
  readonly #store: JobStore
  readonly #live: LiveFeed
  readonly #clock: Clock = systemClock
  #callOff: () => void = () => undefined
  #closing = false

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(SandboxPlanner) private readonly planner: SandboxPlanner,
    @Inject(Bus) bus: Bus,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#store = new JobStore(join(place.data.path, 'jobs'))
    this.#live = new LiveFeed({ bus, clock: this.#clock, log, hostId: place.hostId })
  }

  /** Takes up what an earlier start left, whose processes are gone: jobs without an end are lost. */
  async recover(): Promise<void> {
    const { untold, endless } = this.#store.leftovers()
    for (const end of untold) this.#untold.set(end.job_id, end)
    for (const { job_id, node_id } of endless) {
      const output_bytes = await storedBytes(this.#store.directoryOf(job_id)).catch(() => 0)
      const truncated = output_bytes > jobLimits.headBytes + jobLimits.tailBytes
      const outcome = { exit_code: null, signal: null, output_bytes, truncated, error: 'its host was restarted' }
      // One whose end can't be written, as on a full disk, keeps no host from starting: it is told all the same.
      await this.#keepEnd(job_id, node_id, { status: 'lost', ...outcome }).catch((err: unknown) =>
        this.log.error({ err, job_id }, 'the end of a job could not be kept'),
      )
    }
    this.#sweep()
  }

  /** Nodes whose jobs run now. */
  nodes(): string[] {
    return [...this.#running.values()].map(({ order }) => order.node_id)
  }

  /** Jobs that run now. */
  get live(): number {
    return this.#running.size
  }

  /** What lifecycle is told with each hello. */
  hosted(): HostedJob[] {
    return [
      ...[...this.#running.values()].map(({ order: { job_id, scopes } }) => ({
        job_id,
        running: true,
        scopes: equippedWith(scopes),
      })),
      ...[...this.#untold.keys()].map((job_id) => ({ job_id, running: false, scopes: [] })),
    ]
  }

  /** @throws SvcError `stale_generation` for a job that was made for another start of this host */
  start(order: JobOrder): { state: 'started' | 'running' | 'ended' } {
    const { job_id, node_id, incarnation } = order
    if (incarnation !== this.place.incarnation) {
      throw new SvcError('stale_generation', 'This job was made for an earlier start of the host.', {
        incarnation: this.place.incarnation,
      })
    }
    if (this.#running.has(job_id)) return { state: 'running' }
    if (!this.#claim(job_id, node_id)) return { state: 'ended' }
    const refusal = this.#closing ? 'its host is ending' : this.#isFull() ? 'its host runs too many jobs already' : null
    if (refusal !== null) {
      this.#take(job_id, node_id, Promise.resolve(neverRun('exited', refusal)))
      return { state: 'ended' }
    }
    if (order.consent) this.planner.consented = true
    const process = this.#process(order)
    this.#running.set(job_id, process)
    this.onCount()
    this.#take(job_id, node_id, process.ended)
    return { state: 'started' }
  }

  /** Ends a job; one that was never started never will be. */
  cancel(jobId: string, nodeId: string): { state: 'ending' | 'ended' } {
    const process = this.#running.get(jobId)
    process?.cancel()
    if (process) return { state: 'ending' }
    if (this.#claim(jobId, nodeId)) this.#take(jobId, nodeId, Promise.resolve(neverRun('killed', null)))
    return { state: 'ended' }
  }

  /** @throws SvcError not_found */
  async output(jobId: string, offset: number, limit: number): Promise<KeptOutput> {
    const process = this.#running.get(jobId)
    const directory = this.#store.directoryOf(jobId)
    if (process) return readOutput(directory, { offset, limit, size: process.output.size, running: true })
    const end = this.#untold.get(jobId) ?? this.#store.endOf(jobId)
    if (!end) throw new SvcError('not_found', `This host has nothing of job ${jobId}.`, { resource: 'job', id: jobId })
    return readOutput(directory, { offset, limit, size: end.output_bytes, running: false })
  }

  /** Ends that lifecycle has not taken yet. */
  untold(): JobEnd[] {
    return [...this.#untold.values()]
  }

  /** Lifecycle has taken this end. */
  told(jobId: string): void {
    const end = this.#untold.get(jobId)
    this.#untold.delete(jobId)
    try {
      if (end) this.#store.markTold(end)
    } catch (err) {
      // The next start of the host tells it once more, which changes nothing.
      this.log.warn({ err, job_id: jobId }, 'that the end of a job was told could not be noted')
    }
  }

  /** Ends every job with all that it started; resolves when their ends are kept. */
  async close(): Promise<void> {
    this.#closing = true
    this.#callOff()
    this.#live.close()
    for (const process of this.#running.values()) process.abandon(shutdownGrace)
    await Promise.all(this.#endings.values())
  }

  #isFull(): boolean {
    return this.#running.size >= jobLimits.perHost
  }

  #claim(job_id: string, node_id: string): boolean {
    return this.#store.claim({ job_id, node_id, started_at: isoTime(this.#clock.now()) })
  }

  #process(order: JobOrder): JobProcess {
    const { hostId, incarnation, dataMark } = this.place
    const { job_id, node_id, node_cwd, scopes, git_dir, makers } = order
    return new JobProcess(order, {
      directory: this.#store.directoryOf(job_id),
      mark: `${hostId}:${incarnation}:${job_id}`,
      dataMark,
      plan: () => this.planner.planFor({ nodeId: node_id, cwd: node_cwd, scopes, gitDir: git_dir, makers }),
      onOutput: (chunk, offset) => this.#live.add(job_id, node_id, chunk, offset),
    })
  }

  /** Waits for the outcome of a job and keeps it; until it is kept the job counts as running. */
  #take(jobId: string, nodeId: string, outcome: Promise<JobOutcome>): void {
    const ending = outcome
      .catch((err: unknown) => {
        this.log.error({ err, job_id: jobId }, 'a job failed in the host')
        return neverRun('exited', `the host failed: ${(err as Error).message}`)
      })
      .then((found) => this.#keepEnd(jobId, nodeId, found))
      .catch((err: unknown) => this.log.error({ err, job_id: jobId }, 'the end of a job could not be kept'))
      .finally(() => {
        this.#endings.delete(jobId)
        this.#running.delete(jobId)
        this.onCount()
      })
    this.#endings.set(jobId, ending)
  }

  async #keepEnd(jobId: string, nodeId: string, outcome: JobOutcome): Promise<void> {
    this.#live.finish(jobId)
    const end: JobEnd = {
      job_id: jobId,
      node_id: nodeId,
      ...outcome,
      error: outcome.error === null ? null : storable(outcome.error).slice(0, 4000),
      ended_at: isoTime(this.#clock.now()),
      tail: await this.#tailOf(jobId, outcome.output_bytes),
    }
    // Kept in memory also where the disk is full: then it is lost only with this process, which makes the job lost.
    this.#untold.set(jobId, end)
    this.#running.delete(jobId)
    this.onEnd()
    this.#store.keepEnd(end)
  }

  /** An output that can't be read is no reason to keep an end back: lifecycle would wait for it for ever. */
  async #tailOf(jobId: string, size: number): Promise<string> {
    const page = { offset: -tailBytes, limit: tailBytes, size, running: false }
    try {
      const { content } = await readOutput(this.#store.directoryOf(jobId), page)
      return storable(content.trimEnd().split('\n').slice(-tailLines).join('\n'))
    } catch (err) {
      this.log.warn({ err, job_id: jobId }, 'the last lines of a job could not be read')
      return ''
    }
  }

  #sweep(): void {
    this.#store.sweep(keep, this.#clock.now()).catch((err: unknown) => {
      this.log.warn({ err }, 'files of old jobs could not be cleared; trying again later')
    })
    this.#callOff = this.#clock.after(sweepEvery, () => this.#sweep())
  }
}

const neverRun = (status: 'exited' | 'killed', error: string | null): JobOutcome => ({
  status,
  exit_code: null,
  signal: null,
  output_bytes: 0,
  truncated: false,
  error,
})
