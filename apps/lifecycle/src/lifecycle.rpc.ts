import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { speaksWith, version } from '#common/kernel/version.js'
import { JobReconciler } from './job/job.reconciler.js'
import { SandboxService } from './sandbox/sandbox.service.js'
import { StatusService } from './status.service.js'
import { HostRegistry } from './supervision/host.registry.js'
import { Supervisor } from './supervision/supervisor.service.js'
import { UsageService } from './usage/usage.service.js'

const op = contract

/** What other services tell the writer, or ask of it. */
@Injectable()
export class LifecycleRpc {
  constructor(
    private readonly hosts: HostRegistry,
    private readonly supervisor: Supervisor,
    private readonly usage: UsageService,
    private readonly statuses: StatusService,
    private readonly sandbox: SandboxService,
    private readonly jobs: JobReconciler,
  ) {}

  @Handles(op['lifecycle.host.hello'])
  async hello(
    _ctx: Context,
    input: InputOf<(typeof op)['lifecycle.host.hello']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.host.hello']>> {
    if (!speaksWith(input.version)) {
      throw new SvcError('version_mismatch', `A host of version ${input.version} can't serve ${version}.`, {
        remedy: 'Restart the host with the version of the daemon.',
      })
    }
    if (this.hosts.hear(input)) this.supervisor.poke()
    this.jobs.heard(input)
    return { accepted: true, consent: await this.sandbox.consentedOn(input.sandbox.level) }
  }

  @Handles(op['lifecycle.host.exited'])
  async exited(_ctx: Context, { exit }: InputOf<(typeof op)['lifecycle.host.exited']>): Promise<{ noted: boolean }> {
    await this.supervisor.exited(exit)
    return { noted: true }
  }

  @Handles(op['lifecycle.usage.record'])
  record(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.usage.record']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.usage.record']>> {
    return this.usage.record(ctx, input)
  }

  @Handles(op['lifecycle.status'])
  status(ctx: Context): Promise<OutputOf<(typeof op)['lifecycle.status']>> {
    return this.statuses.status(ctx)
  }

  @Handles(op['lifecycle.node.principal'])
  principal(
    _ctx: Context,
    { node_id }: InputOf<(typeof op)['lifecycle.node.principal']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.node.principal']>> {
    return this.statuses.principal(node_id)
  }
}
