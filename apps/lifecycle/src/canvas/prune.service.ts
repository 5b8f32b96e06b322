import { Inject, Injectable } from '@nestjs/common'
import type { PruneAnswer } from '#common/contract/canvas.schema.js'
import { contract, type InputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { nodeEnded } from '../node/node-end.message.js'
import { secondsOf } from './duration.js'
import { type Old, type Prunable, PruneRepository } from './prune.repository.js'

const prune = contract['canvas.prune']
type Input = InputOf<typeof prune>

/** Nodes of one transaction, and how long (ms) one request goes on deleting. */
const batch = 25
const patience = 20_000
const sampled = 100

/** Deletes nodes that ended long ago. Each batch is a transaction: what is cut short is taken up by the next request. */
@Injectable()
export class PruneService {
  constructor(
    private readonly database: Database,
    private readonly writer: Writer,
    private readonly repository: PruneRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  async prune(ctx: Context, input: Input): Promise<PruneAnswer> {
    const before = new Date(this.clock.now() - secondsOf(input.older_than) * 1000)
    const old = { statuses: input.statuses, before }
    return input.dry_run ? this.preview(ctx, old) : this.remove(ctx, old)
  }

  private async preview(ctx: Context, old: Old): Promise<PruneAnswer> {
    const [groups, sample, bytes] = await this.writer.transact(ctx, ({ tx }) =>
      Promise.all([
        this.repository.preview(tx, old),
        this.repository.sample(tx, old, sampled),
        this.repository.rowBytes(tx),
      ]),
    )
    const sum = (field: 'nodes' | 'events' | 'turns' | 'entries'): number =>
      groups.reduce((total, group) => total + Number(group[field]), 0)
    return {
      dry_run: true,
      ended_before: old.before.toISOString(),
      nodes: sum('nodes'),
      by_status: Object.fromEntries(groups.map(({ status, nodes }) => [status, nodes])),
      events: sum('events'),
      turns: sum('turns'),
      bytes: Math.round(sum('events') * bytes.event + sum('entries') * bytes.entry + sum('nodes') * bytes.node),
      sample: sample.map(shown),
      complete: true,
    }
  }

  private async remove(ctx: Context, old: Old): Promise<PruneAnswer> {
    const bytes = await this.repository.rowBytes(this.database)
    const tally: PruneAnswer = {
      dry_run: false,
      ended_before: old.before.toISOString(),
      nodes: 0,
      by_status: {},
      events: 0,
      turns: 0,
      bytes: 0,
      sample: [],
      complete: false,
    }
    const started = this.clock.monotonic()
    const inTime = (): boolean => this.clock.monotonic() - started < patience && !ctx.signal.aborted
    // a node made by a clock that was set back may stand before its children: it goes in the next pass
    for (let gone = -1; gone !== tally.nodes && inTime(); ) {
      gone = tally.nodes
      tally.complete = await this.pass(ctx, old, (row) => count(tally, row, bytes), inTime)
    }
    if (tally.nodes > 0) this.log.info({ nodes: tally.nodes, complete: tally.complete }, 'ended nodes were deleted')
    return { ...tally, bytes: Math.round(tally.bytes) }
  }

  /** From the newest to the oldest; answers whether it got there. */
  private async pass(ctx: Context, old: Old, note: (row: Prunable) => void, inTime: () => boolean): Promise<boolean> {
    let after: { createdAt: Date; id: string } | undefined
    while (inTime()) {
      const found = await this.repository.spent(this.database, old, after, batch)
      const last = found.at(-1)
      if (!last) return true
      after = { createdAt: last.created_at, id: last.id }
      for (const ids of layers(found)) {
        const rows = await this.writer.transact(ctx, ({ tx }) => this.drop(tx, old, ids))
        for (const row of rows) note(row)
      }
    }
    return false
  }

  private async drop(tx: Tx, old: Old, ids: readonly string[]): Promise<Prunable[]> {
    const rows = await this.repository.remove(tx, old, ids)
    const updated_at = new Date(this.clock.now())
    const messages = rows.flatMap(({ id, version }) => nodeEnded({ id, version, updated_at }, 'pruned'))
    for (const message of messages) tx.deliver(message)
    return rows
  }
}

/** The deepest first. */
const layers = (rows: readonly { id: string; depth: number }[]): string[][] => {
  const found = new Map<number, string[]>()
  for (const { id, depth } of rows) found.set(depth, [...(found.get(depth) ?? []), id])
  return [...found].sort(([a], [b]) => b - a).map(([, ids]) => ids)
}

const shown = (row: Prunable): PruneAnswer['sample'][number] => ({
  id: row.id,
  name: row.name,
  status: row.status,
  ended_at: row.updated_at.toISOString(),
})

const count = (tally: PruneAnswer, row: Prunable, bytes: { event: number; entry: number; node: number }): void => {
  tally.nodes += 1
  tally.by_status[row.status] = (tally.by_status[row.status] ?? 0) + 1
  tally.events += row.events
  tally.turns += row.turn
  tally.bytes += row.events * bytes.event + row.entries * bytes.entry + bytes.node
  if (tally.sample.length < sampled) tally.sample.push(shown(row))
}
