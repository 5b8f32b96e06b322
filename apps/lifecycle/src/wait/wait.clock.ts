import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'

/** Waits that are ended in one look; the next look takes the next ones. */
const atOnce = 100

/** At the earliest (ms) one look follows another: what could not be ended is not tried without a pause. */
const soonest = 50

/** Wakes the nodes whose wait is over by the clock. The rows say when; nothing is lost with a process. */
@Injectable()
export class WaitClock {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly engagements: Engagements,
    private readonly transitions: NodeTransitions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Nodes that rest and whose time has come; one that is still at its turn is released first. */
  async due(): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      "SELECT id FROM canvas.nodes WHERE wait_until <= $1 AND status = 'idle' ORDER BY wait_until LIMIT $2",
      [new Date(this.clock.now()), atOnce],
    )
    return rows.map(({ id }) => id)
  }

  /** Ms until the next wait is over; undefined when nobody waits by the clock. */
  async nextIn(): Promise<number | undefined> {
    const [row] = await this.database.query<{ at: Date | null }>(
      "SELECT min(wait_until) AS at FROM canvas.nodes WHERE wait_until IS NOT NULL AND status = 'idle'",
    )
    return row?.at ? Math.max(soonest, row.at.getTime() - this.clock.now()) : undefined
  }

  async wake(id: string): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const [node] = (await this.nodes.lockAll(ctx.tx, [id])).values()
      if (node?.status !== 'idle' || !node.wait_until || node.wait_until.getTime() > this.clock.now()) return
      this.over(ctx, node)
    })
  }

  private over(ctx: TxContext, node: NodeRecord): void {
    const { wait_reason, waiting_since } = node
    const why = wait_reason === null ? '' : ` (${wait_reason})`
    const { node: now } = this.engagements.hand(ctx, node, {
      tier: 'normal',
      kind: 'notice',
      body: `Your wait${why} since ${waiting_since?.toISOString()} is over: its time has passed, and nothing else woke you.`,
      source: { kind: 'system', id: null },
      reopens: false,
    })
    // one whose worktree is gone can't be woken: it finds the notice when it is brought back, and waits by no clock any more
    if (now.status === 'idle')
      this.transitions.change(ctx, now, { waiting_since: null, wait_until: null, wait_reason: null })
  }
}
