import { Injectable } from '@nestjs/common'
import { systemContext } from '#common/kernel/context.js'
import { Writer } from '#common/kernel/database/writer.js'
import { hasCode, type SvcError } from '#common/kernel/errors.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeRepository } from '../node/node.repository.js'

/** Whether asking again brings nothing, until a person changes something. */
export const isFinal = (error: unknown): error is SvcError =>
  hasCode(error, 'path_outside_scope', 'sandbox_required', 'file_access_denied', 'illegal_transition', 'grant_revoked')

/** Launches that no host will ever carry out: the node ends as a fault that says why, and a message revives it. */
@Injectable()
export class LaunchRefusals {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly engagements: Engagements,
  ) {}

  async end(nodeId: string, generation: number, error: SvcError): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const family = await this.nodes.lockFamily(ctx.tx, nodeId)
      const { node } = family
      if (node.status !== 'active' || node.generation !== generation || node.broker_state === 'bound') return
      const { remedy = error.facts.remedy } = error.fields
      this.engagements.crash(ctx, family, { kind: 'other', message: `${error.message} ${remedy}` })
    })
  }
}
