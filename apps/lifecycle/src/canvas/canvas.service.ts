import { Inject, Injectable } from '@nestjs/common'
import { canvasLimits, type RosterEntry } from '#common/contract/canvas.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock, isoTime } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { InProgressStore } from '../broker/in-progress.store.js'
import { AttentionService } from './attention.service.js'
import { CanvasRepository, type RosterRow } from './canvas.repository.js'
import { type Horizon, Horizons } from './horizon.js'

const roster = contract['canvas.roster']
const snapshot = contract['canvas.snapshot']

/** Views of many nodes at once. */
@Injectable()
export class CanvasService {
  constructor(
    private readonly database: Database,
    private readonly canvas: CanvasRepository,
    private readonly horizons: Horizons,
    private readonly attention: AttentionService,
    private readonly inProgress: InProgressStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found */
  async roster(ctx: Context, input: InputOf<typeof roster>): Promise<OutputOf<typeof roster>> {
    const horizon = await this.horizons.of(ctx, this.database, input.under)
    const page = await this.page(horizon, input, false)
    return { ...page, data: await this.entriesOf(page.data, horizon) }
  }

  /** @throws SvcError not_found */
  async snapshot(ctx: Context, input: InputOf<typeof snapshot>): Promise<OutputOf<typeof snapshot>> {
    const horizon = await this.horizons.of(ctx, this.database, input.under)
    const limit = Math.min(input.limit, canvasLimits.snapshotNodes)
    const generated_at = isoTime(this.clock.now())
    const [page, by_status] = await Promise.all([
      this.page(horizon, { ...input, limit }, input.live ?? false),
      this.canvas.statusCounts(this.database, horizon),
    ])
    const ids = page.data.map(({ id }) => id)
    const [nodes, edges] = await Promise.all([
      this.entriesOf(page.data, horizon),
      this.canvas.edges(this.database, ids, horizon),
    ])
    const total = Object.values(by_status).reduce((sum, count) => sum + count, 0)
    return {
      generated_at,
      nodes,
      objects: [],
      edges,
      truncated: page.has_more,
      next_cursor: page.next_cursor,
      totals: { nodes: total, by_status },
    }
  }

  private async page(horizon: Horizon, { limit, after }: { limit: number; after?: string | undefined }, live: boolean) {
    const rows = await this.canvas.roster(this.database, { horizon, before: readCursor(after), limit: limit + 1 }, live)
    return pageOf(rows, limit, (row) => cursorAfter(row.created_at, row.id))
  }

  private async entriesOf(rows: readonly RosterRow[], horizon: Horizon): Promise<RosterEntry[]> {
    const suspects = rows.filter((row) => row.fault || row.status === 'active' || row.status === 'idle')
    const counts = await this.attention.countsOf(
      suspects.map(({ id }) => id),
      horizon,
    )
    return rows.map((row) => this.entryOf(row, counts.get(row.id) ?? 0))
  }

  private entryOf(row: RosterRow, attention: number): RosterEntry {
    const { fault, model, journal_at, created_at, updated_at, ...same } = row
    const latest = Math.max(updated_at.getTime(), journal_at?.getTime() ?? 0)
    return {
      ...same,
      model: row.engine === 'exec' ? null : (model.override ?? model.strength),
      streaming: row.status === 'active' && this.inProgress.isStreaming(row.id),
      fault: fault?.kind ?? null,
      attention,
      age_ms: Math.max(0, this.clock.now() - created_at.getTime()),
      created_at: created_at.toISOString(),
      last_activity_at: isoTime(latest),
    }
  }
}
