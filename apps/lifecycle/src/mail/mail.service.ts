import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Writer } from '#common/kernel/database/writer.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { MailRepository } from './mail.repository.js'

const claim = contract['nodes.mail.claim']
const acknowledge = contract['nodes.mail.acknowledge']

/** How long in ms a broker may hold mail without acknowledging it before another process may take it. */
const leaseMs = 30_000

/** The broker's side of a node's mail: lease it, and acknowledge it once the engine has accepted it. */
@Injectable()
export class MailService {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError stale_generation */
  claim(ctx: Context, input: InputOf<typeof claim>): Promise<OutputOf<typeof claim>> {
    return this.writer.transact(ctx, async ({ tx }) => {
      const node = await this.nodes.lock(tx, input.id)
      this.access.requireHosted(ctx, node)
      const wanted = this.claimOf(node, input.limit, input.steering ? 'steering' : 'all')
      return { mail: await this.mail.claim(tx, wanted), lease_expires_at: wanted.until.toISOString() }
    })
  }

  /** @throws SvcError stale_generation */
  acknowledge(ctx: Context, input: InputOf<typeof acknowledge>): Promise<OutputOf<typeof acknowledge>> {
    return this.writer.transact(ctx, async ({ tx }) => {
      const node = await this.nodes.lock(tx, input.id)
      this.access.requireHosted(ctx, node)
      const at = new Date(this.clock.now())
      return { acknowledged: await this.mail.acknowledge(tx, node.id, input.ids, node.turn || null, at) }
    })
  }

  claimOf(node: NodeRecord, limit: number, which: 'all' | 'steering') {
    return { nodeId: node.id, generation: node.generation, limit, which, until: new Date(this.clock.now() + leaseMs) }
  }
}
