import { Inject, Injectable } from '@nestjs/common'
import { type Focus, focusLimits } from '#common/contract/focus.operations.js'
import { contract, type InputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { NodeRepository } from '../node/node.repository.js'
import { type FocusRecord, FocusRepository } from './focus.repository.js'

/** Which node a person looks at in which pane. Only viewers care: nothing else follows from it. */
@Injectable()
export class FocusService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly focuses: FocusRepository,
    private readonly nodes: NodeRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async list(nodeId?: string): Promise<{ data: Focus[] }> {
    const now = new Date(this.clock.now())
    const rows = nodeId
      ? await this.focuses.ofNode(this.database, now, nodeId)
      : await this.focuses.all(this.database, now)
    return { data: rows.map(shown) }
  }

  /** @throws SvcError not_found, quota_exceeded */
  set(ctx: Context, input: InputOf<(typeof contract)['focuses.set']>): Promise<Focus> {
    const { pane, node_id, viewer = null, ttl } = input
    return this.writer.transact(ctx, async ({ tx }) => {
      const now = new Date(this.clock.now())
      this.focuses.removeExpired(tx, now)
      const [, others] = await Promise.all([this.nodes.lock(tx, node_id), this.focuses.others(tx, pane)])
      if (others >= focusLimits.panes) {
        throw new SvcError('quota_exceeded', undefined, { limit: 'focuses', max: focusLimits.panes })
      }
      const expires_at = new Date(now.getTime() + ttl * 1000)
      return shown(await this.focuses.save(tx, { pane, node_id, viewer, updated_at: now, expires_at }))
    })
  }

  /** One that isn't there is forgotten already. */
  remove(ctx: Context, pane: string): Promise<void> {
    return this.writer.transact(ctx, async ({ tx }) => this.focuses.remove(tx, pane))
  }
}

const shown = (row: FocusRecord): Focus => ({
  pane: row.pane,
  node_id: row.node_id,
  viewer: row.viewer,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})
