import { Inject, Injectable } from '@nestjs/common'
import type { NodeEventType } from '#common/contract/node.schema.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { hasCode, type SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { WorktreeHost } from './worktree.host.js'
import { type WorktreeEvent, worktreeMachine } from './worktree.machine.js'
import type { WorktreeRecord } from './worktree.record.js'
import { WorktreeRepository } from './worktree.repository.js'

/** Trees that git works on at once. */
const atOnce = 4
/** How often a branch that somebody moves meanwhile is tried to be removed. */
const tries = 5

/**
 * Carries worktrees that are on their way to where they are to be: after the commit that decided it, and whenever the
 * rows are looked at, so that a step that a restart cut off is taken again. The host's steps may be repeated.
 */
@Injectable()
export class WorktreeCarrier {
  private readonly carrying = new Map<string, Promise<void>>()

  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly worktrees: WorktreeRepository,
    private readonly transitions: NodeTransitions,
    private readonly engagements: Engagements,
    private readonly launches: LaunchQueue,
    private readonly host: WorktreeHost,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** Begins what should be under way; doesn't wait for its end. */
  async reconcile(): Promise<void> {
    for (const id of await this.worktrees.moving(this.database)) {
      if (this.carrying.size >= atOnce) return
      void this.carry(id)
    }
  }

  /** Resolves when the step under way has been taken, or could not be: then the next look takes it. */
  carry(nodeId: string): Promise<void> {
    const known = this.carrying.get(nodeId)
    if (known) return known
    const step = this.step(nodeId)
      .catch((err: unknown) => this.log.warn({ err, node_id: nodeId }, 'a worktree could not be looked after yet'))
      .finally(() => this.carrying.delete(nodeId))
    this.carrying.set(nodeId, step)
    return step
  }

  private async step(nodeId: string): Promise<void> {
    const node = await this.nodes.find(this.database, nodeId)
    switch (node?.worktree?.state) {
      case 'creating':
        return node.status === 'active' ? this.create(node, node.worktree) : this.giveUp(node)
      case 'closing':
      case 'abandoning':
        return this.remove(node, node.worktree)
      default:
        return
    }
  }

  private async create(node: NodeRecord, worktree: WorktreeRecord): Promise<void> {
    try {
      await this.host.create(systemContext('lifecycle'), node.id, worktree)
    } catch (error) {
      if (!hasCode(error, 'worktree_refused')) throw error
      return this.fail(node.id, error)
    }
    await this.change(node.id, (ctx, now) => {
      // a node that was canceled meanwhile is looked at again, and its tree given up
      if (now.status !== 'active' || now.worktree?.state !== 'creating') return
      const { path, branch, base } = worktree
      this.move(ctx, now, 'opened', 'worktree.opened', { path, branch, base })
      ctx.tx.afterCommit(() => this.launches.add(now.id))
    })
  }

  /** Nothing of the tree is there: the node ends, and says why. */
  private async fail(nodeId: string, error: SvcError): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const family = await this.nodes.lockFamily(ctx.tx, nodeId)
      if (family.node.worktree?.state !== 'creating') return
      const { reason } = error.fields
      const node = this.move(ctx, family.node, 'fail', 'worktree.failed', { reason, message: error.message })
      if (node.status !== 'active') return
      const message = `Its worktree could not be made: ${error.message}`
      this.engagements.crash(ctx, { ...family, node }, { kind: 'other', message })
    })
  }

  /** The node was canceled before its tree was there. */
  private async giveUp(node: NodeRecord): Promise<void> {
    await this.change(node.id, (ctx, now) => {
      if (now.status === 'active' || now.worktree?.state !== 'creating') return
      this.move(ctx, now, 'abandon')
    })
    return this.step(node.id)
  }

  private async remove(node: NodeRecord, decided: WorktreeRecord): Promise<void> {
    let worktree = decided
    for (let attempt = 0; attempt < tries; attempt += 1) {
      const moved = await this.host.remove(systemContext('lifecycle'), node.id, worktree)
      if (moved === null) return this.removed(node.id)
      // recorded before it is removed, so that what the branch held can be named afterwards
      worktree = { ...worktree, commit: moved }
      await this.change(node.id, (ctx, now) => {
        if (now.worktree?.state === 'abandoning') this.transitions.change(ctx, now, { worktree })
      })
    }
  }

  private async removed(nodeId: string): Promise<void> {
    await this.change(nodeId, (ctx, now) => {
      const { state, branch, commit } = now.worktree ?? {}
      if (state === 'closing') this.move(ctx, now, 'closed', 'worktree.closed', { branch, commit })
      if (state === 'abandoning') this.move(ctx, now, 'abandoned', 'worktree.abandoned', { branch, commit })
    })
  }

  private async change(nodeId: string, act: (ctx: TxContext, now: NodeRecord) => void): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) =>
      act(ctx, await this.nodes.lock(ctx.tx, nodeId)),
    )
  }

  private move(
    ctx: TxContext,
    node: NodeRecord,
    event: WorktreeEvent,
    type?: NodeEventType,
    data: Readonly<Record<string, unknown>> = {},
  ): NodeRecord {
    const worktree = moved(node.worktree as WorktreeRecord, event)
    if (type) ctx.tx.emit({ nodeId: node.id, type, data })
    return this.transitions.change(ctx, node, { worktree })
  }
}

/** The record after the event. @throws SvcError illegal_transition */
export const moved = (worktree: WorktreeRecord, event: WorktreeEvent): WorktreeRecord => {
  const { status } = worktreeMachine.apply({ status: worktree.state }, event)
  return { ...worktree, state: status }
}
