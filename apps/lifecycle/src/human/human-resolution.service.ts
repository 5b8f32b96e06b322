import { Inject, Injectable } from '@nestjs/common'
import type { HumanResponseItem } from '#common/contract/human.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { actorRefOf, systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { Waiters } from '../node/waiters.js'
import { resolutionText } from './answer.text.js'
import { type HumanRequestEvent, humanRequestMachine } from './human-request.machine.js'
import type { HumanRequestRecord } from './human-request.record.js'
import { HumanRequestRepository } from './human-request.repository.js'

export interface LockedRequest {
  readonly row: HumanRequestRecord
  /** Who is told what becomes of it. */
  readonly node: NodeRecord | undefined
}

interface Outcome {
  readonly response?: HumanResponseItem[] | null
  readonly reason?: string | null
}

/** How a request ends, whoever ends it: its row, its event and the mail to who asked are one transaction. */
@Injectable()
export class HumanResolutions {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly requests: HumanRequestRepository,
    private readonly nodes: NodeRepository,
    private readonly engagements: Engagements,
    private readonly waiters: Waiters,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** The request and its node, locked; the node first, as everywhere. @throws SvcError not_found, version_conflict */
  async lock(tx: Tx, id: string): Promise<LockedRequest> {
    const { node_id } = await this.requests.get(tx, id)
    const node = node_id === null ? undefined : await this.nodes.lock(tx, node_id)
    const row = await this.requests.lock(tx, id)
    // its node was recycled in between
    if (row.node_id !== node_id) throw new SvcError('version_conflict')
    return { row, node }
  }

  /** @throws SvcError already_resolved with what was decided, request_expired */
  requireOpen(row: HumanRequestRecord): void {
    const late = row.status === 'pending' && row.deadline !== null && row.deadline.getTime() <= this.clock.now()
    if (row.status === 'expired' || late) {
      throw new SvcError('request_expired', undefined, {
        deadline: row.deadline?.toISOString(),
        default: row.default_response,
      })
    }
    if (row.status === 'pending') return
    throw new SvcError('already_resolved', `The request was ${row.status} already.`, {
      state: row.status,
      response: row.response,
      resolved_by: row.resolved_by,
      resolved_at: row.resolved_at?.toISOString(),
    })
  }

  resolve(
    ctx: TxContext,
    { row, node }: LockedRequest,
    event: HumanRequestEvent,
    outcome: Outcome,
  ): HumanRequestRecord {
    const { status } = humanRequestMachine.apply(row, event)
    const at = new Date(this.clock.now())
    const by = actorRefOf(ctx.actor)
    const resolved = this.requests.save(
      ctx.tx,
      row,
      { status, response: outcome.response ?? null, reason: outcome.reason ?? null, resolved_by: by, resolved_at: at },
      at,
    )
    if (node) this.tell(ctx, node, resolved)
    ctx.tx.afterCommit(() => this.waiters.wake(row.id))
    return resolved
  }

  /**
   * Open questions of nodes that are canceled in this transaction, which has locked them, go with them.
   */
  async withdrawAll(ctx: TxContext, nodeIds: readonly string[]): Promise<void> {
    for (const row of await this.requests.lockOpenOf(ctx.tx, nodeIds)) {
      this.note(ctx, row.node_id as string, this.resolve(ctx, { row, node: undefined }, 'cancel', nodeGone))
    }
  }

  /**
   * Level-triggered: ends what is past its deadline, or whose node is gone. What silence decides is what `default` says.
   */
  async reconcile(): Promise<void> {
    for (const id of await this.requests.over(this.database, new Date(this.clock.now()))) {
      await this.writer
        .transact(systemContext('lifecycle'), (ctx) => this.endOver(ctx, id))
        .catch((err: unknown) => {
          if (hasCode(err, 'not_leader')) throw err
          this.log.warn({ err, request_id: id }, 'a request that is over could not be ended; trying again')
        })
    }
  }

  private async endOver(ctx: TxContext, id: string): Promise<void> {
    const locked = await this.lock(ctx.tx, id)
    const { row, node } = locked
    if (row.status !== 'pending') return
    if (node?.status === 'canceled') this.resolve(ctx, locked, 'cancel', nodeGone)
    else if (row.deadline !== null && row.deadline.getTime() <= this.clock.now())
      this.resolve(ctx, locked, 'expire', { response: row.default_response })
  }

  /**
   * Wakes who asked. An answer to a node that has ended is kept until it is given new work: its work is over, and whoever
   * gave it has the outcome.
   */
  private tell(ctx: TxContext, node: NodeRecord, row: HumanRequestRecord): void {
    this.note(ctx, node.id, row)
    const ownDoing = row.status === 'canceled' && ctx.actor.nodeId === node.id
    if (node.status === 'canceled' || ownDoing) return
    const { kind, nodeId, appId } = ctx.actor
    this.engagements.hand(ctx, node, {
      tier: node.status === 'active' || node.status === 'idle' ? 'normal' : 'deferred',
      kind: 'answer',
      body: resolutionText(row),
      source: { kind: kind === 'pub' ? 'system' : kind, id: nodeId ?? appId ?? null },
      reopens: false,
    })
  }

  private note(ctx: TxContext, nodeId: string, { id, status, resolved_by }: HumanRequestRecord): void {
    ctx.tx.emit({ nodeId, type: 'question.resolved', data: { request_id: id, status, resolved_by } })
  }
}

const nodeGone = { reason: 'Its node was canceled.' }
