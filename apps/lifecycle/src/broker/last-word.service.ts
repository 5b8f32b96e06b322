import { Inject, Injectable } from '@nestjs/common'
import type { JournalEntry } from '#common/contract/broker.schema.js'
import type { NodeStatus } from '#common/contract/node.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import type { NodeRecord } from '../node/node.record.js'
import { eventsOf } from './journal.events.js'
import { JournalRepository } from './journal.repository.js'

type ToolEnded = Extract<JournalEntry, { type: 'tool_ended' }>
type TurnEnded = Extract<JournalEntry, { type: 'turn_ended' }>
type Ended = Exclude<NodeStatus, 'active' | 'idle'>

const turnStatus: Readonly<Record<Ended, TurnEnded['status']>> = {
  done: 'completed',
  canceled: 'interrupted',
  dead: 'failed',
}

const unseen: Pick<ToolEnded, 'status' | 'output'> = {
  status: 'outcome_unknown',
  output: 'The process that carried this out was lost before its end was seen. How far it came is not known.',
}
const canceled: Pick<ToolEnded, 'status' | 'output'> = {
  status: 'canceled',
  output: 'The node was canceled while this ran, and it was ended with its process.',
}

/**
 * A node may end before its process has said how the calls under way ended: by a cancel, or because the process died
 * right after the final report. Once that process is gone nobody else says it, so it is written here.
 */
@Injectable()
export class LastWord {
  constructor(
    private readonly journal: JournalRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Ends the calls that an ended node left open, and their turn. The node is locked, and its process is known to be gone. */
  async say({ tx }: TxContext, node: NodeRecord): Promise<void> {
    const { id, status, generation, engagement } = node
    if (status === 'active' || status === 'idle') return
    const head = await this.journal.lockHead(tx, id)
    const open = await this.journal.openCalls(tx, id)
    if (open.length === 0) return
    const at = new Date(this.clock.now())
    const end = status === 'canceled' ? canceled : unseen
    const calls = open.map((call): ToolEnded => ({ type: 'tool_ended', ...call, ...end, exit_code: null }))
    const turn = Math.max(...open.map((call) => call.turn))
    const entries: JournalEntry[] = [...calls, { type: 'turn_ended', turn, status: turnStatus[status] }]
    this.journal.append(tx, { nodeId: id, from: head + 1, generation, engagement, entries, at })
    for (const { turn, call_id: callId } of calls) {
      this.journal.endTool(tx, { nodeId: id, turn, callId, status: end.status, at })
    }
    for (const event of entries.flatMap(eventsOf)) tx.emit({ nodeId: id, ...event })
  }
}
