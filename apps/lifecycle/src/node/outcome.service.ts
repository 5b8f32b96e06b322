import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type Outcome } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { ReportRepository } from '../report/report.repository.js'
import { LongPolls } from './long.polls.js'
import { NodeAccess } from './node.access.js'
import { type NodeRecord, usageOf } from './node.record.js'
import { NodeRepository } from './node.repository.js'

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
    private readonly polls: LongPolls,
  ) {}

  /** The outcome as it is now, or within `wait` seconds as soon as it is settled. */
  async read(ctx: Context, { id, wait }: InputOf<typeof read>): Promise<Outcome> {
    let checked = false
    return this.polls.until(id, { seconds: wait ?? 0, signal: ctx.signal }, async (last) => {
      const node = await this.nodes.get(this.database, id)
      if (!checked) await this.access.requireReadable(ctx, this.database, node)
      checked = true
      return isSettled(node) || last ? this.assemble(this.database, node) : undefined
    })
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
