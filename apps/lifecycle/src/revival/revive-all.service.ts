import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode } from '#common/kernel/errors.js'
import { hangingSince } from '../canvas/hanging.query.js'
import { Horizons } from '../canvas/horizon.js'
import { ReviveService } from '../context/revive.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { OwedRepository, type OwedRow } from './owed.repository.js'
import { reasonOf } from './revival.text.js'

const operation = contract['nodes.reviveAll']
type Answer = OutputOf<typeof operation>

/** Between the launches (ms) of nodes that are brought back together: five a second are no storm. */
const spacing = 200

/** Brings back, after an outage, whatever was left with its work unfinished. */
@Injectable()
export class ReviveAllService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly owed: OwedRepository,
    private readonly horizons: Horizons,
    private readonly homes: WorktreeHomes,
    private readonly revivals: ReviveService,
    private readonly transitions: NodeTransitions,
    private readonly launches: LaunchQueue,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found (of `under`) */
  async request(ctx: Context, input: InputOf<typeof operation>): Promise<Written<Answer>> {
    const horizon = await this.horizons.of(ctx, this.database, input.under)
    const since = hangingSince(this.clock.now())
    if (!input.confirm) {
      const found = await this.owed.list(this.database, horizon, since, input.limit + 1)
      return { value: await this.answer(this.database, found, input.limit), replayed: false }
    }
    return this.writer.once(ctx, { operation: operation.name, input }, async (within) => {
      const found = await this.owed.list(within.tx, horizon, since, input.limit + 1)
      const ids = found.slice(0, input.limit).map(({ id }) => id)
      await this.nodes.lockAll(within.tx, ids)
      // somebody may have brought one back meanwhile
      const rows = await this.owed.among(within.tx, ids, since)
      const answer = await this.answer(within.tx, rows, input.limit)
      const usable = new Set(answer.nodes.filter((node) => node.usable).map(({ id }) => id))
      const revived: string[] = []
      for (const row of rows.filter(({ id }) => usable.has(id))) {
        if (await this.revive(within, row, revived.length * spacing)) revived.push(row.id)
      }
      return { ...answer, revived, has_more: found.length > input.limit }
    })
  }

  /** Answers false for one that takes nothing: its box is full. */
  private async revive(ctx: TxContext, { owes: _, ...before }: OwedRow, delayMs: number): Promise<boolean> {
    try {
      const { node } = await this.revivals.bring(ctx, before, { mode: 'resume' })
      if (delayMs > 0) this.putOff(ctx, node.id, await this.nodes.get(ctx.tx, node.id), delayMs)
      return true
    } catch (error) {
      if (hasCode(error, 'quota_exceeded')) return false
      throw error
    }
  }

  /** The row holds its launch back, so that a look at the rows finds the same as the clock. */
  private putOff(ctx: TxContext, id: string, node: NodeRecord, delayMs: number): void {
    this.transitions.change(ctx, node, { next_launch_at: new Date(this.clock.now() + delayMs) })
    ctx.tx.afterCommit(() => {
      this.clock.after(delayMs, () => this.launches.add(id))
    })
  }

  private async answer(reader: Reader, found: readonly OwedRow[], limit: number): Promise<Answer> {
    const rows = found.slice(0, limit)
    const homes = await Promise.all(rows.map((row) => this.homes.of(reader, row)))
    const nodes = rows.map((row, at) => ({
      id: row.id,
      name: row.name,
      status: row.status,
      reason: reasonOf(row, row.owes),
      fault: row.fault?.kind ?? null,
      usable: ['creating', 'open', undefined].includes(homes[at]?.state),
    }))
    return { nodes, revived: [], has_more: found.length > limit }
  }
}
