import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type Job, jobLimits, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { SandboxGate } from '../sandbox/sandbox.gate.js'
import { HostRegistry, type KnownHost } from '../supervision/host.registry.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { JobCarrier } from './job.carrier.js'
import { type JobRecord, toJob } from './job.record.js'
import { JobRepository } from './job.repository.js'
import { briefCommand } from './job.text.js'

const list = contract['nodes.jobs.list']
const start = contract['nodes.jobs.start']
const cancel = contract['nodes.jobs.cancel']
const output = contract['nodes.jobs.output']

/** Background jobs, as a node or whoever may act on it asks for them: the record first, the process after commit. */
@Injectable()
export class JobService {
  constructor(
    private readonly bus: Bus,
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly jobs: JobRepository,
    private readonly access: NodeAccess,
    private readonly carrier: JobCarrier,
    private readonly hosts: HostRegistry,
    private readonly gate: SandboxGate,
    private readonly homes: WorktreeHomes,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, input.id))
    const { status, limit, after } = input
    const rows = await this.jobs.page(this.database, input.id, { status, before: readCursor(after), limit: limit + 1 })
    const page = pageOf(rows, limit, (row) => cursorAfter(row.started_at, row.id))
    return { ...page, data: page.data.map((row) => this.shown(row)) }
  }

  /**
   * @throws SvcError not_found, illegal_transition (canceled, or its worktree is gone), quota_exceeded, sandbox_required,
   * service_unavailable (no host)
   */
  start(ctx: Context, input: InputOf<typeof start>): Promise<Written<Job>> {
    return this.writer.once(ctx, { operation: start.name, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, node)
      requireLegal(node.status, 'start_job')
      const host = this.hostOf(node)
      await this.homes.requireUsable(within.tx, node, 'start_job')
      await this.gate.requireOn(within.tx, host, node)
      await this.requireRoom(within, node, host)
      const job = this.build(node, host, input)
      this.jobs.insert(within.tx, job)
      within.tx.emit({
        nodeId: node.id,
        type: 'job.started',
        data: { job_id: job.id, command: briefCommand(job.command), cwd: job.cwd },
      })
      within.tx.afterCommit(() => this.carrier.start(job))
      return toJob(job)
    })
  }

  /** Asks for the end of a job; one that has ended stays as it is. @throws SvcError not_found */
  cancel(ctx: Context, input: InputOf<typeof cancel>): Promise<Written<Job>> {
    return this.writer.once(ctx, { operation: cancel.name, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, node)
      const job = await this.jobs.get(within.tx, node.id, input.job_id)
      if (job.status === 'running') {
        this.jobs.requestCancel(within.tx, job.id, ctx.actor.principal, new Date(this.clock.now()))
        within.tx.afterCommit(() => this.carrier.cancel(job))
      }
      return toJob(job)
    })
  }

  /** @throws SvcError not_found, service_unavailable while its host is away */
  async output(ctx: Context, input: InputOf<typeof output>): Promise<OutputOf<typeof output>> {
    await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, input.id))
    // the row first: what it says of an end is then true of what is read
    const job = await this.jobs.get(this.database, input.id, input.job_id)
    const running = job.status === 'running'
    try {
      const { offset, limit } = input
      const asked = { job_id: job.id, offset, limit }
      const kept = await this.bus.call(contract['host.job.output'], systemContext('lifecycle', ctx.signal), asked, {
        target: job.host_id,
      })
      return { ...kept, next_offset: running || kept.next_offset < kept.size ? kept.next_offset : null, running }
    } catch (error) {
      if (hasCode(error, 'not_found')) return nothingKept(job)
      throw error
    }
  }

  /** A job of a host that is silent counts as running, since nobody can tell; that it is so is said. */
  private shown(row: JobRecord): Job {
    const job = toJob(row)
    if (job.status !== 'running' || !this.hosts.isSilent(row.host_id)) return job
    return { ...job, error: `Its host ${row.host_id} is not heard: whether it still runs can't be told.` }
  }

  /** Where the node's process is, or will be. */
  private hostOf(node: NodeRecord): KnownHost {
    const present = this.hosts.present()
    const own = present.find(({ host_id }) => host_id === node.broker_host_id)
    const host = own ?? this.hosts.choose()
    if (!host) throw new SvcError('service_unavailable', 'No host is there to run it.', { service: 'host' })
    return host
  }

  private async requireRoom(ctx: TxContext, node: NodeRecord, host: KnownHost): Promise<void> {
    const { ofNode, ofHost } = await this.jobs.running(ctx.tx, node.id, host.host_id)
    if (ofNode >= jobLimits.perNode) {
      throw new SvcError(
        'quota_exceeded',
        `A node runs at most ${jobLimits.perNode} jobs at once: cancel one, or wait for the end of one.`,
        { limit: 'jobs_of_node', max: jobLimits.perNode },
      )
    }
    if (ofHost >= jobLimits.perHost) {
      throw new SvcError('quota_exceeded', `A host runs at most ${jobLimits.perHost} jobs at once.`, {
        limit: 'jobs_of_host',
        max: jobLimits.perHost,
      })
    }
  }

  private build(node: NodeRecord, host: KnownHost, input: InputOf<typeof start>): JobRecord {
    return {
      id: newId('job'),
      node_id: node.id,
      command: input.command,
      cwd: input.cwd ?? node.cwd,
      status: 'running',
      exit_code: null,
      signal: null,
      started_at: new Date(this.clock.now()),
      ended_at: null,
      output_bytes: 0,
      truncated: false,
      error: null,
      host_id: host.host_id,
      host_incarnation: host.incarnation,
      cancel_requested_at: null,
      canceled_by: null,
    }
  }
}

/** The host has no output of it: it never wrote any, or its files were cleared long after its end. */
const nothingKept = ({ status, output_bytes }: JobRecord): OutputOf<typeof output> => {
  const running = status === 'running'
  return {
    content: '',
    offset: running ? 0 : output_bytes,
    next_offset: running ? 0 : null,
    size: output_bytes,
    truncated: output_bytes > 0,
    omitted: output_bytes > 0 ? { from: 0, to: output_bytes } : null,
    running,
  }
}
