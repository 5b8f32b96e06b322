import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { MailRepository } from '../mail/mail.repository.js'
import { ModelCheck } from '../node/model-check.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { type NodeOperation, requireLegal } from '../node/node.rules.js'
import { NodeService } from '../node/node.service.js'
import { type KindDefaults, KindService } from '../persona/kind.service.js'
import { RoadmapService } from '../roadmap/roadmap.service.js'
import { NodeChanges } from './node.changes.js'
import { promotedText } from './role.text.js'

const promote = contract['nodes.promote']
const demote = contract['nodes.demote']

const already = (state: string, event: NodeOperation): never => {
  throw new SvcError('illegal_transition', `The node is ${state} already.`, { state, event })
}

/** What a node is to others: whether it directs them, and whether it owes a last word. */
@Injectable()
export class RoleService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    private readonly models: ModelCheck,
    private readonly kinds: KindService,
    private readonly changes: NodeChanges,
    private readonly roadmaps: RoadmapService,
    private readonly shown: NodeService,
  ) {}

  /** @throws SvcError not_found, illegal_transition (canceled; an orchestrator already), model_not_configured, validation_failed (kind) */
  async promote(ctx: Context, input: InputOf<typeof promote>): Promise<Written<Node>> {
    const { strength } = input
    const taken = await this.kindOf(input.kind)
    const refusal =
      taken instanceof SvcError
        ? taken
        : strength && (await this.models.refusal(ctx, await this.nodes.get(this.database, input.id), { strength }))
    return this.writer.once(ctx, { operation: promote.name, input }, async (within) => {
      const before = await this.locked(within, input.id, 'promote')
      if (before.mode === 'orchestrator') already('orchestrator', 'promote')
      // thrown here, since a repeated request is given its first answer whatever has changed since
      if (refusal) throw refusal
      const node = this.changes.apply(within, before, {
        mode: 'orchestrator',
        ...(input.kind !== undefined && { kind: input.kind, persona: (taken as KindDefaults).persona }),
        ...(strength !== undefined && { model: { strength } }),
        ...(input.resident !== undefined && { lifecycle: input.resident ? 'resident' : 'terminal' }),
      })
      const goal = () => this.mail.firstPrompt(within.tx, node.id)
      const roadmap = await this.roadmaps.seed(within, node, input.roadmap, async () => (await goal()) ?? node.name)
      const { kind, mode, lifecycle, model } = node
      within.tx.emit({
        nodeId: node.id,
        type: 'node.promoted',
        data: { kind, mode, lifecycle, model, roadmap_version: roadmap },
      })
      const owes = before.lifecycle === 'resident' && lifecycle === 'terminal' && node.status === 'idle'
      return this.shown.show(await this.changes.tell(within, node, promotedText(node, roadmap), owes))
    })
  }

  /** @throws SvcError not_found, illegal_transition (canceled; terminal already) */
  demote(ctx: Context, input: InputOf<typeof demote>): Promise<Written<Node>> {
    return this.writer.once(ctx, { operation: demote.name, input }, async (within) => {
      const before = await this.locked(within, input.id, 'demote')
      if (before.lifecycle === 'terminal') already('terminal', 'demote')
      const node = this.changes.apply(within, before, { lifecycle: 'terminal' })
      within.tx.emit({ nodeId: node.id, type: 'node.demoted', data: { lifecycle: node.lifecycle } })
      return this.shown.show(await this.changes.tellLifecycle(within, node))
    })
  }

  /** What its new kind gives it, or why it can't have that one. */
  private async kindOf(kind: string | undefined): Promise<KindDefaults | SvcError | undefined> {
    try {
      return kind === undefined ? undefined : await this.kinds.require(kind)
    } catch (error) {
      if (hasCode(error, 'validation_failed')) return error
      throw error
    }
  }

  private async locked(ctx: TxContext, id: string, operation: NodeOperation): Promise<NodeRecord> {
    const node = await this.nodes.lock(ctx.tx, id)
    await this.access.requireOwn(ctx, ctx.tx, node)
    requireLegal(node.status, operation)
    return node
  }
}
