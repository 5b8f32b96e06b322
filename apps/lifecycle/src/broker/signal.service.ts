import { Injectable } from '@nestjs/common'
import type { BrokerSignal } from '#common/contract/broker.schema.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { MailRepository } from '../mail/mail.repository.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { JournalRepository } from './journal.repository.js'
import { SignalHub } from './signal.hub.js'
import { WaitingSignals } from './waiting.signals.js'

/** What a node is now: told first on every connect, since it may have changed after the bind. */
export const changedSignal = ({ name, kind, mode, lifecycle, model, persona }: NodeRecord): BrokerSignal => ({
  type: 'changed',
  name,
  kind,
  mode,
  lifecycle,
  model,
  persona,
})

/** What the daemon wants of the broker that hosts a node: first as the rows show it, then as it changes. */
@Injectable()
export class SignalService {
  constructor(
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly mail: MailRepository,
    private readonly journal: JournalRepository,
    private readonly access: NodeAccess,
    private readonly hub: SignalHub,
  ) {}

  /** Ends when `ctx.signal` fires. @throws SvcError not_found, stale_generation */
  async *follow(ctx: Context, nodeId: string): AsyncGenerator<BrokerSignal> {
    const waiting = new WaitingSignals()
    const off = this.hub.on(nodeId, (signal) => waiting.put(signal))
    const leave = (): void => waiting.end()
    ctx.signal.addEventListener('abort', leave, { once: true })
    try {
      yield* await this.present(ctx, nodeId)
      if (ctx.signal.aborted) return
      yield* waiting
    } finally {
      off()
      ctx.signal.removeEventListener('abort', leave)
    }
  }

  private async present(ctx: Context, nodeId: string): Promise<BrokerSignal[]> {
    const [node, mail, open] = await Promise.all([
      this.nodes.get(this.database, nodeId),
      this.mail.waiting(this.database, nodeId),
      this.journal.hasOpenTurn(this.database, nodeId),
    ])
    this.access.requireGeneration(ctx, node)
    if (node.status === 'canceled' || node.status === 'dead') return [{ type: 'stop', reason: node.status }]
    return [
      changedSignal(node),
      ...(open && node.interrupt_request === node.turn && node.turn > 0
        ? [{ type: 'interrupt' as const, request: node.interrupt_request }]
        : []),
      ...(mail.waking > 0 ? [{ type: 'mail' as const, urgent: mail.urgent, critical: mail.critical }] : []),
    ]
  }
}
