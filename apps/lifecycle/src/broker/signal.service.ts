import { Injectable } from '@nestjs/common'
import type { BrokerSignal } from '#common/contract/broker.schema.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { MailRepository } from '../mail/mail.repository.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { JournalRepository } from './journal.repository.js'
import { SignalHub } from './signal.hub.js'

/** Signals that wait for a slow reader; more are dropped, since a broker that reads late looks at its mail anyway. */
const queueLimit = 100

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
    const waiting: BrokerSignal[] = []
    let wake = Promise.withResolvers<void>()
    const off = this.hub.on(nodeId, (signal) => {
      if (waiting.length < queueLimit) waiting.push(signal)
      wake.resolve()
    })
    const leave = (): void => wake.resolve()
    ctx.signal.addEventListener('abort', leave, { once: true })
    try {
      yield* await this.present(ctx, this.database, nodeId)
      while (!ctx.signal.aborted) {
        const next = waiting.shift()
        if (next) {
          yield next
          continue
        }
        await wake.promise
        wake = Promise.withResolvers<void>()
        if (ctx.signal.aborted) wake.resolve()
      }
    } finally {
      off()
      ctx.signal.removeEventListener('abort', leave)
    }
  }

  private async present(ctx: Context, reader: Reader, nodeId: string): Promise<BrokerSignal[]> {
    const node = await this.nodes.get(reader, nodeId)
    this.access.requireHosted(ctx, node)
    if (node.status === 'canceled') return [{ type: 'stop', reason: 'canceled' }]
    const [mail, open] = await Promise.all([
      this.mail.waiting(reader, nodeId),
      this.journal.hasOpenTurn(reader, nodeId),
    ])
    return [
      ...(open && node.interrupt_request === node.turn && node.turn > 0
        ? [{ type: 'interrupt' as const, request: node.interrupt_request }]
        : []),
      ...(mail.waking > 0 ? [{ type: 'mail' as const, urgent: mail.urgent, critical: mail.critical }] : []),
    ]
  }
}
