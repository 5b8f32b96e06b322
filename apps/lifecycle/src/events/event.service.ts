import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { EventLog } from '#common/kernel/database/events.js'
import { NodeRepository } from '../node/node.repository.js'

const read = contract['lifecycle.node.readEvents']

/** The log of record, for the gateway's readers. */
@Injectable()
export class EventService {
  constructor(
    private readonly database: Database,
    private readonly log: EventLog,
    private readonly nodes: NodeRepository,
  ) {}

  /** @throws SvcError not_found, cursor_expired with `oldest` */
  async read(_ctx: Context, { id, tree, after, limit }: InputOf<typeof read>): Promise<OutputOf<typeof read>> {
    const page = tree
      ? await this.log.pageTree(this.database, id, after, limit)
      : await this.log.page(this.database, id, after, limit)
    const node = await this.nodes.get(this.database, id)
    const settled = node.status === 'done' || node.status === 'dead' || node.status === 'canceled'
    return { events: [...page.events], head: page.head, settled }
  }
}
