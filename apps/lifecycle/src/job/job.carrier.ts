import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { contract } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { baseUrlOf, SETTINGS, type Settings } from '#common/kernel/config.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { deriveNodeToken } from '#common/kernel/tokens.js'
import { Ceilings } from '../grant/ceilings.js'
import { ungranted } from '../grant/grant.ceiling.js'
import { makersOf } from '../node/node.makers.js'
import { NodeRepository } from '../node/node.repository.js'
import { SandboxGate } from '../sandbox/sandbox.gate.js'
import { HostRegistry } from '../supervision/host.registry.js'
import { isFinal } from '../supervision/launch.refusal.js'
import { NODE_TOKEN_KEY } from '../supervision/launcher.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { JobQueue } from './job.queue.js'
import type { JobRecord } from './job.record.js'
import { JobRepository } from './job.repository.js'
import { JobEndService } from './job-end.service.js'

const start = contract['host.job.start']
const cancel = contract['host.job.cancel']

/**
 * Carries the start and the end of jobs to their host. Both are idempotent by the job's id, so that what had no answer is
 * simply asked again at the host's next word; one request a job at a time.
 */
@Injectable()
export class JobCarrier implements OnModuleInit {
  private readonly starting = new Set<string>()
  private readonly canceling = new Set<string>()

  constructor(
    private readonly bus: Bus,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly jobs: JobRepository,
    private readonly queue: JobQueue,
    private readonly hosts: HostRegistry,
    private readonly gate: SandboxGate,
    private readonly homes: WorktreeHomes,
    private readonly ends: JobEndService,
    private readonly ceilings: Ceilings,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(NODE_TOKEN_KEY) private readonly tokenKey: Buffer,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.queue.follow((nodeId) => void this.endAll(nodeId))
  }

  start(job: JobRecord): void {
    this.once(this.starting, job, () => this.order(job).catch((error: unknown) => this.refuse(job, error)))
  }

  cancel(job: Pick<JobRecord, 'id' | 'node_id' | 'host_id'>): void {
    this.once(this.canceling, job, () =>
      this.bus.call(
        cancel,
        systemContext('lifecycle'),
        { job_id: job.id, node_id: job.node_id },
        { target: job.host_id },
      ),
    )
  }

  private async endAll(nodeId: string): Promise<void> {
    try {
      for (const job of await this.jobs.runningOf(this.database, nodeId)) this.cancel(job)
    } catch (err) {
      this.log.warn({ err, node_id: nodeId }, 'the jobs of a canceled node could not be ended yet')
    }
  }

  private once(under: Set<string>, job: Pick<JobRecord, 'id' | 'node_id'>, ask: () => Promise<unknown>): void {
    if (under.has(job.id)) return
    under.add(job.id)
    ask()
      .catch((err: unknown) =>
        this.log.warn({ err, job_id: job.id, node_id: job.node_id }, 'the host of a job could not be told yet'),
      )
      .finally(() => under.delete(job.id))
  }

  /** Should the host have it after all, it is told at its next word that nobody owes it. */
  private async refuse(job: JobRecord, error: unknown): Promise<void> {
    if (!isFinal(error)) throw error
    await this.ends.refuse(job, `${error.code}: ${error.message}`)
  }

  private async order(job: JobRecord): Promise<void> {
    const node = await this.nodes.find(this.database, job.node_id)
    const host = this.hosts.find(job.host_id)
    if (!node || !host || node.status === 'canceled') return
    await this.homes.requireUsable(this.database, node, 'start_job')
    const ceiling = await this.ceilings.of(this.database, node)
    // not final: the gateway tells of every grant sooner or later
    if (ceiling.state === 'unknown') throw new SvcError('service_unavailable', ungranted(node, ceiling).message)
    if (ceiling.state === 'revoked') throw new SvcError('grant_revoked')
    const order = {
      job_id: job.id,
      node_id: node.id,
      incarnation: job.host_incarnation,
      command: job.command,
      cwd: job.cwd,
      node_cwd: node.cwd,
      git_dir: await this.homes.gitDirOf(this.database, node),
      scopes: [...ceiling.scopes],
      makers: await makersOf({ nodes: this.nodes, ceilings: this.ceilings }, this.database, node),
      consent: await this.gate.requireOn(this.database, host, node),
      token: deriveNodeToken(this.tokenKey, node.id, node.generation),
      base_url: baseUrlOf(this.settings),
    }
    await this.bus.call(start, systemContext('lifecycle'), order, { target: job.host_id })
  }
}
