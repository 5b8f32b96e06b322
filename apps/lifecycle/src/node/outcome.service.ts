import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type Outcome } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { ReportRepository } from '../report/report.repository.js'
import { NodeAccess } from './node.access.js'
import { type NodeRecord, usageOf } from './node.record.js'
import { NodeRepository } from './node.repository.js'
import { Waiters } from './waiters.js'

const read = contract['nodes.outcome']

/** Whether the present piece of work has ended: a resident's also when it went idle. */
const isSettled = (node: NodeRecord): boolean =>
  node.status === 'idle' ? node.lifecycle === 'resident' : node.status !== 'active'

const errorOf = (node: NodeRecord): Outcome['error'] => {
  if (node.status === 'canceled') return { kind: 'canceled', message: 'The node was canceled.' }
  return node.fault ? { kind: node.fault.kind, message: node.fault.message } : null
}

@Injectable()
export class OutcomeService {
  constructor(
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly reports: ReportRepository,
    private readonly access: NodeAccess,
    private readonly waiters: Waiters,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The outcome as it is now, or within `wait` seconds as soon as it is settled. */
  async read(ctx: Context, { id, wait }: InputOf<typeof read>): Promise<Outcome> {
    const left = new AbortController()
    const callOff = this.clock.after((wait ?? 0) * 1000, () => left.abort())
    if (!wait) left.abort()
    const patience = AbortSignal.any([ctx.signal, this.waiters.over, left.signal])
    try {
      for (let checked = false; ; checked = true) {
        const woken = this.waiters.next(id, patience)
        const node = await this.nodes.get(this.database, id)
        if (!checked) await this.access.requireOwn(ctx, this.database, node)
        if (isSettled(node) || patience.aborted) return await this.assemble(this.database, node)
        await woken
      }
    } finally {
      callOff()
      left.abort()
    }
  }

  async assemble(reader: Reader, node: NodeRecord): Promise<Outcome> {
    const [final, result] = await Promise.all([
      this.reports.final(reader, node.id, node.engagement),
      this.reports.result(reader, node.id, node.engagement),
    ])
    return {
      node_id: node.id,
      engagement: node.engagement,
      status: node.status,
      settled: isSettled(node),
      final_report: final,
      ...(result && { result: result.value }),
      error: errorOf(node),
      usage: usageOf(node),
    }
  }
}
