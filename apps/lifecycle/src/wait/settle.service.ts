import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type Settlement } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { JournalRepository } from '../broker/journal.repository.js'
import { MailRepository } from '../mail/mail.repository.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { WaitedForRepository } from './waited-for.repository.js'

const settle = contract['nodes.broker.settle']

/**
 * Tells an engine what to do at the end of its turn. It changes nothing: what becomes of the node is decided when the end
 * is recorded, by the rows as they are then.
 */
@Injectable()
export class SettleService {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly journal: JournalRepository,
    private readonly mail: MailRepository,
    private readonly waitedFor: WaitedForRepository,
    private readonly access: NodeAccess,
  ) {}

  /** @throws SvcError stale_generation, journal_conflict when the turn is not the newest */
  settle(ctx: Context, { id, turn }: InputOf<typeof settle>): Promise<Settlement> {
    return this.writer.transact(ctx, async ({ tx }) => {
      const node = await this.nodes.lock(tx, id)
      this.access.requireHosted(ctx, node)
      if (node.turn !== turn) {
        const next_ord = (await this.journal.lockHead(tx, id)) + 1
        throw new SvcError('journal_conflict', `The node is at turn ${node.turn}.`, { next_ord })
      }
      if (node.status !== 'active') return { directive: 'stop', waits_for: [] }
      const [mail, waits_for] = await Promise.all([this.mail.waiting(tx, id), this.waitedFor.of(tx, node)])
      if (node.intent === 'refresh') return { directive: 'yield', waits_for }
      if (mail.waking > 0) return { directive: 'continue', waits_for }
      return { directive: waits_for.length > 0 ? 'wait' : 'finish', waits_for }
    })
  }
}
