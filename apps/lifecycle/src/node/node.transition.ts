import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { actorRefOf } from '#common/kernel/context.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import { FaultRepository } from '../fault/fault.repository.js'
import { type NodeMachineEvent, nodeMachine } from './node.machine.js'
import type { NodeRecord } from './node.record.js'
import { NodeRepository } from './node.repository.js'

const noBroker = {
  broker_state: null,
  broker_host_id: null,
  broker_pid: null,
  broker_started_at: null,
  broker_bound_at: null,
} as const

const noWait = { waiting_since: null, wait_until: null, wait_reason: null } as const

/** A wait ends with whatever brings the node back or ends it; resting is how it waits. */
const endsWait = (event: NodeMachineEvent): boolean => event !== 'release' && event !== 'yield'

/** Moves nodes through their machine: the record and its history, in the transaction of the context. */
@Injectable()
export class NodeTransitions {
  constructor(
    private readonly nodes: NodeRepository,
    private readonly faults: FaultRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * @param before the row, locked by this transaction
   * @throws SvcError illegal_transition
   */
  move(ctx: TxContext, before: NodeRecord, event: NodeMachineEvent, changes: Partial<NodeRecord> = {}): NodeRecord {
    const { status, intent } = nodeMachine.apply(before, event)
    const at = new Date(this.clock.now())
    const hosted = status === 'active' ? {} : noBroker
    const owed = intent === 'refresh' ? (before.refresh_asked_at ?? at) : null
    const kept = {
      ...(before.refresh_asked_at !== owed && { refresh_asked_at: owed }),
      ...(before.waiting_since && endsWait(event) && noWait),
    }
    this.nodes.recordTransition(ctx.tx, {
      nodeId: before.id,
      version: before.version + 1,
      event,
      from: before.status,
      to: status,
      intent,
      actor: actorRefOf(ctx.actor),
      at,
    })
    return this.save(ctx, before, { ...hosted, ...kept, ...changes, status, intent }, at)
  }

  /** Changes fields that no event of the machine is about. */
  change(ctx: TxContext, before: NodeRecord, changes: Partial<NodeRecord>): NodeRecord {
    return this.save(ctx, before, changes, new Date(this.clock.now()))
  }

  /** Every fault that a node has is in its history too: nothing writes one but by this. */
  private save(ctx: TxContext, before: NodeRecord, changes: Partial<NodeRecord>, at: Date): NodeRecord {
    const { fault } = changes
    if (fault !== undefined && fault !== before.fault) this.faults.follow(ctx.tx, before, fault, at)
    return this.nodes.save(ctx.tx, before, changes, at)
  }
}
