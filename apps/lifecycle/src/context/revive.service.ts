import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { isHeld } from '../fault/fault.hold.js'
import { MailRepository } from '../mail/mail.repository.js'
import { requireMailRoom } from '../mail/mail.room.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { NodeService } from '../node/node.service.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { ContextRepository } from './context.repository.js'
import { ContextService } from './context.service.js'
import { sourceOf } from './mail.source.js'
import { reviveNotice } from './revive.text.js'

const operation = contract['nodes.revive']
export type Revival = Pick<InputOf<typeof operation>, 'mode' | 'prompt'>

export interface Revived {
  readonly node: NodeRecord
  /** Whether a launch was decided. */
  readonly revived: boolean
  /** Nodes below that were canceled, and stay so. */
  readonly leftCanceled: readonly string[]
}

/** Brings nodes back from whatever state they are in. */
@Injectable()
export class ReviveService {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly contexts: ContextRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    private readonly homes: WorktreeHomes,
    private readonly engagements: Engagements,
    private readonly fresh: ContextService,
    private readonly views: NodeService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, illegal_transition (its worktree is gone), quota_exceeded */
  revive(ctx: Context, input: InputOf<typeof operation>): Promise<Written<OutputOf<typeof operation>>> {
    return this.writer.once(ctx, { operation: operation.name, input }, async (within) => {
      const found = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, found)
      const { node, revived, leftCanceled } = await this.bring(within, found, input)
      return { node: this.views.show(node), revived, left_canceled: [...leftCanceled] }
    })
  }

  /**
   * In the transaction that has locked the node.
   *
   * @throws SvcError illegal_transition (its worktree is gone), quota_exceeded
   */
  async bring(ctx: TxContext, node: NodeRecord, { mode, prompt }: Revival): Promise<Revived> {
    requireLegal(node.status, 'revive')
    await this.homes.requireUsable(ctx.tx, node, 'revive')
    requireMailRoom(await this.mail.waiting(ctx.tx, node.id))
    const fresh = mode === 'fresh' && node.engine !== 'exec'
    if (node.status === 'active') return this.hasten(ctx, node, fresh, prompt)
    const leftCanceled = node.status === 'canceled' ? await this.contexts.canceledBelow(ctx.tx, node.id) : []
    const engagement = node.status === 'idle' ? node.engagement : node.engagement + 1
    const revived = this.engagements.revive(ctx, node, engagement, fresh || node.intent === 'refresh')
    await this.give(ctx, node, revived, { prompt, leftCanceled })
    return { node: revived, revived: true, leftCanceled }
  }

  /** It is at work, or to be: only one that waits for its next try is launched. */
  private async hasten(ctx: TxContext, node: NodeRecord, fresh: boolean, prompt: string | undefined): Promise<Revived> {
    const waits = isHeld(node) || (node.next_launch_at !== null && node.next_launch_at.getTime() > this.clock.now())
    const now = waits
      ? this.engagements.revive(ctx, node, node.engagement, fresh || node.intent === 'refresh')
      : fresh
        ? await this.fresh.ask(ctx, node, node.yield_note)
        : node
    if (prompt !== undefined) this.hand(ctx, now, 'prompt', prompt)
    return { node: now, revived: waits, leftCanceled: [] }
  }

  /** What it finds when it comes back, so that it has something to do. */
  private async give(
    ctx: TxContext,
    before: NodeRecord,
    revived: NodeRecord,
    { prompt, leftCanceled }: { prompt: string | undefined; leftCanceled: readonly string[] },
  ): Promise<void> {
    if (prompt !== undefined) return this.hand(ctx, revived, 'prompt', prompt)
    if (before.engine !== 'exec') {
      return this.hand(ctx, revived, 'notice', reviveNotice(before, ctx.actor, leftCanceled))
    }
    const [mandate] = await this.contexts.mandate(ctx.tx, before.id, 1)
    // one that was never taken in is still there
    if (mandate) this.hand(ctx, revived, 'prompt', mandate.body)
  }

  private hand(ctx: TxContext, node: NodeRecord, kind: 'prompt' | 'notice', body: string): void {
    const source = kind === 'notice' ? { kind: 'system' as const, id: null } : sourceOf(ctx.actor)
    this.engagements.hand(ctx, node, { tier: 'normal', kind, body, source, reopens: false })
  }
}
