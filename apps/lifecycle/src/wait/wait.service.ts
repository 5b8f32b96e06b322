import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, nodeStatuses, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { LongPolls } from '../node/long.polls.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { NodeService } from '../node/node.service.js'
import { NodeTransitions } from '../node/node.transition.js'

const wait = contract['nodes.wait']
type Input = InputOf<typeof wait>
type Answer = OutputOf<typeof wait>

/** The longest that an answer is held, in s. */
const longestHold = 60
const settled = nodeStatuses.filter((status) => status !== 'active')

/** A node waits by its own word; anybody else waits for what becomes of it. */
@Injectable()
export class WaitService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly shown: NodeService,
    private readonly access: NodeAccess,
    private readonly transitions: NodeTransitions,
    private readonly polls: LongPolls,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found; of an own wait illegal_transition, stale_generation */
  wait(ctx: Context, input: Input): Promise<Answer> {
    return ctx.actor.nodeId === input.id ? this.begin(ctx, input) : this.follow(ctx, input)
  }

  /** Only noted here: the node is released when its turn ends, and goes on when mail came before that. */
  private async begin(ctx: Context, input: Input): Promise<Answer> {
    const { value } = await this.writer.once(ctx, { operation: wait.name, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      this.access.requireGeneration(ctx, node)
      requireLegal(node.status, 'wait')
      const now = this.clock.now()
      const until = input.timeout === undefined ? null : new Date(now + input.timeout * 1000)
      const waiting = this.transitions.change(within, node, {
        waiting_since: new Date(now),
        wait_until: until,
        wait_reason: input.reason ?? null,
      })
      within.tx.emit({
        nodeId: node.id,
        type: 'node.waiting',
        data: { until: until?.toISOString() ?? null, reason: waiting.wait_reason },
      })
      return { node: this.shown.show(waiting), reached: false }
    })
    return value
  }

  private async follow(ctx: Context, { id, timeout, status = settled }: Input): Promise<Answer> {
    await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, id))
    const seconds = Math.min(timeout ?? longestHold, longestHold)
    return this.polls.until(id, { seconds, signal: ctx.signal }, async (last) => {
      const node = await this.nodes.get(this.database, id)
      const reached = status.includes(node.status)
      return reached || last ? { node: this.shown.show(node), reached } : undefined
    })
  }
}
