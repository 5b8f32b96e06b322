import { Injectable } from '@nestjs/common'
import type { TxContext } from '#common/kernel/database/writer.js'
import { SignalHub } from '../broker/signal.hub.js'
import { changedSignal } from '../broker/signal.service.js'
import { MailRepository } from '../mail/mail.repository.js'
import { requireMailRoom } from '../mail/mail.room.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeTransitions } from '../node/node.transition.js'
import { lifecycleChangedText } from './role.text.js'

/** Changes what a node is, and has it know. */
@Injectable()
export class NodeChanges {
  constructor(
    private readonly transitions: NodeTransitions,
    private readonly engagements: Engagements,
    private readonly mail: MailRepository,
    private readonly signals: SignalHub,
  ) {}

  /** @param before the row, locked by this transaction */
  apply(ctx: TxContext, before: NodeRecord, changes: Partial<NodeRecord>): NodeRecord {
    const node = this.transitions.change(ctx, before, changes)
    ctx.tx.afterCommit(() => this.signals.send(node.id, changedSignal(node)))
    return node
  }

  /** A node whose lifecycle was changed is told; one that rests and owes a final report by it is woken. */
  tellLifecycle(ctx: TxContext, node: NodeRecord): Promise<NodeRecord> {
    const owes = node.lifecycle === 'terminal' && node.status === 'idle' && node.waiting_since === null
    return this.tell(ctx, node, lifecycleChangedText(node.lifecycle), owes)
  }

  /**
   * A notice to a node that thinks: at the end of its turn while it works, else with its next mail. What a node changed
   * itself is no news to it.
   *
   * @throws SvcError quota_exceeded
   */
  async tell(ctx: TxContext, node: NodeRecord, body: string, wakes = false): Promise<NodeRecord> {
    if (node.engine === 'exec') return node
    requireMailRoom(await this.mail.waiting(ctx.tx, node.id))
    const working = node.status === 'active' && ctx.actor.nodeId !== node.id
    return this.engagements.hand(ctx, node, {
      tier: working || wakes ? 'normal' : 'deferred',
      kind: 'notice',
      body,
      source: { kind: 'system', id: null },
      reopens: false,
    }).node
  }
}
